//! Parses the body of a batch into a valid request.

mod elements;
#[cfg(test)]
mod tests;

use super::batch_form::{self, Form, REQUESTS};
use super::generation::{self, Endpoint};
use crate::application::submission::batch_request::{BatchEntry, BatchRequest};
use crate::application::submission::generation_request::GenerationRequest;
use crate::inputs;
use elements::Elements;
use std::collections::{HashMap, HashSet};
use tintype_api::fault_list::FaultList;
use tintype_api::fields::{FieldFault, Fields, kind};
use tintype_storage::domain::catalog::Catalog;
use tintype_storage::domain::tier::{Mode, Tier};

#[derive(Clone, Copy)]
pub struct Bounds<'a> {
    pub catalog: &'a Catalog,
    pub max_prompt_chars: usize,
    pub max_requests: usize,
    /// Of one request, as of the body of a single call: a parsed request takes many times the memory of its text.
    pub max_request_bytes: usize,
}

pub struct ParsedBatch {
    /// The models of all requests, faulty ones included.
    pub models: Vec<Tier>,
    pub request: Result<BatchRequest, Vec<FieldFault>>,
}

const FIELDS: &[&str] = &[REQUESTS, "metadata", "callback_url"];
const CUSTOM_ID: &str = "custom_id";
const MODEL: &str = "model";
const MAX_CUSTOM_ID_CHARS: usize = 64;

pub fn parse(body: &[u8], form: Form, bounds: Bounds<'_>) -> ParsedBatch {
    let body = batch_form::without_byte_order_mark(body);
    let mut entries = Entries::new(bounds);
    let batch = match form {
        Form::Json => read_object(body, &mut entries),
        Form::Lines => read_lines(body, None, &mut entries),
        Form::Table(rows) => read_lines(body, Some(rows), &mut entries),
    };
    let Entries {
        models,
        read,
        faults,
        ..
    } = entries;
    let (metadata, callback_url) = batch;
    let faults = faults.finish(|text| FieldFault::new("body", text));
    let request = faults.map(|()| BatchRequest {
        entries: read,
        metadata,
        callback_url,
        idempotency_key: None,
        file: None,
        memory: None,
    });
    ParsedBatch { models, request }
}

/// Metadata and `callback_url`.
type BatchFields = (Option<tintype_storage::json::Json>, Option<String>);

fn read_object(body: &[u8], entries: &mut Entries<'_>) -> BatchFields {
    let mut fields = match Fields::parse(body) {
        Ok(fields) => fields,
        Err(faults) => {
            entries.faults.extend(faults);
            return (None, None);
        }
    };
    match fields.raw(REQUESTS) {
        None => fields.fault(REQUESTS, "is required"),
        Some(raw) => match Elements::read(raw, entries.bounds.max_requests) {
            Ok(Elements { first, count }) if entries.bounds.allows(count) => {
                for (at, request) in first.into_iter().enumerate() {
                    entries.read(at, request.get().as_bytes());
                }
            }
            Ok(Elements { count, .. }) => {
                fields.fault(REQUESTS, entries.bounds.count_message(count));
            }
            Err(_) => {
                let message = format!("must be an array of objects, not {}", kind(raw));
                fields.fault(REQUESTS, message);
            }
        },
    }
    let callback_url = generation::callback_url(&mut fields);
    let metadata = generation::metadata(&mut fields);
    entries
        .faults
        .extend(fields.finish(FIELDS).err().unwrap_or_default());
    entries.check_custom_ids();
    (metadata, callback_url)
}

/// `rows`: the lines that errors name, if these are not those of the body.
fn read_lines(body: &[u8], rows: Option<Vec<usize>>, entries: &mut Entries<'_>) -> BatchFields {
    // One fault for the whole body: an image that was sent by mistake has thousands of such lines.
    if let Err(error) = std::str::from_utf8(body) {
        let message = match batch_form::is_utf_16(body) {
            true => "is not JSON Lines: it is UTF-16, but must be UTF-8".to_owned(),
            false => {
                let valid = body.iter().take(error.valid_up_to());
                let line = valid.filter(|byte| **byte == b'\n').count() + 1;
                format!("is not JSON Lines: line {line} is not UTF-8 text")
            }
        };
        entries.faults.add_with(|| FieldFault::new("body", message));
        return (None, None);
    }
    if batch_form::is_document(body) {
        let message = "is not JSON Lines: it is one JSON document over several lines; send one request per line, or the document as \
                       application/json";
        entries.faults.add_with(|| FieldFault::new("body", message));
        return (None, None);
    }
    let lines = || {
        let lines = body.split(|byte| *byte == b'\n').zip(1..);
        lines.filter(|(line, _)| !line.trim_ascii().is_empty())
    };
    // Counted first: a body of short lines has millions of them.
    let count = lines().count();
    if !entries.bounds.allows(count) {
        let message = entries.bounds.count_message(count);
        entries
            .faults
            .add_with(|| FieldFault::new(REQUESTS, message));
        return (None, None);
    }
    entries.lines = rows.unwrap_or_else(|| lines().map(|(_, number)| number).collect());
    for (at, (text, _)) in lines().enumerate() {
        entries.read(at, text);
    }
    entries.check_custom_ids();
    (None, None)
}

impl Bounds<'_> {
    fn allows(&self, requests: usize) -> bool {
        (1..=self.max_requests).contains(&requests)
    }

    fn count_message(&self, requests: usize) -> String {
        let max = self.max_requests;
        format!("has {requests} entries; 1 to {max} are allowed")
    }
}

struct Entries<'a> {
    bounds: Bounds<'a>,
    models: Vec<Tier>,
    read: Vec<BatchEntry>,
    /// The given custom ids, with the positions of their requests.
    custom_ids: Vec<(usize, String)>,
    /// The positions of the requests without a custom id, whose default is the position.
    unnamed: HashSet<usize>,
    /// The line of each request, counted from 1. Empty if requests have no lines.
    lines: Vec<usize>,
    faults: FaultList<FieldFault>,
    /// The accepted fields, by model. Always includes the input images.
    known: Vec<Vec<&'static str>>,
}

impl<'a> Entries<'a> {
    fn new(bounds: Bounds<'a>) -> Self {
        Self {
            bounds,
            models: Vec::new(),
            read: Vec::new(),
            custom_ids: Vec::new(),
            unnamed: HashSet::new(),
            lines: Vec::new(),
            faults: FaultList::default(),
            known: Tier::ALL.iter().map(known_of).collect(),
        }
    }

    fn read(&mut self, at: usize, text: &[u8]) {
        match self.entry(at, text) {
            Ok(entry) => self.read.push(entry),
            Err(faults) => {
                let line = self.lines.get(at);
                let faults = faults.into_iter().map(|fault| locate(at, line, fault));
                self.faults.extend(faults);
            }
        }
    }

    fn entry(&mut self, at: usize, text: &[u8]) -> Result<BatchEntry, Vec<FieldFault>> {
        let most = self.bounds.max_request_bytes;
        if text.len() > most {
            let message = format!("has {} bytes; at most {most} are allowed", text.len());
            return Err(vec![FieldFault::new("body", message)]);
        }
        let mut fields = Fields::parse(text)?;
        if !fields.is_given(CUSTOM_ID) {
            self.unnamed.insert(at);
        }
        let custom_id = custom_id(&mut fields);
        if let Some(custom_id) = &custom_id {
            self.custom_ids.push((at, custom_id.clone()));
        }
        if fields.optional("callback_url").is_some() {
            let message = "is not accepted in a request; a batch sends one webhook, so set it beside `requests`";
            fields.fault("callback_url", message);
        }
        let request = self.generation(fields)?;
        // The position is the default.
        let custom_id = custom_id.filter(|it| *it != at.to_string());
        Ok(BatchEntry::new(custom_id, request))
    }

    fn generation(&mut self, mut fields: Fields<'_>) -> Result<GenerationRequest, Vec<FieldFault>> {
        let max_prompt_chars = self.bounds.max_prompt_chars;
        let tier = fields.required_string(MODEL).and_then(|word| {
            let tier = word.parse::<Tier>().ok();
            if tier.is_none() {
                let words: Vec<&str> = Tier::names().collect();
                fields.fault(MODEL, format!("must be one of {}", words.join(", ")));
            }
            tier
        });
        let mode = match fields.is_given(inputs::FIELD) {
            true => Mode::ImageToImage,
            false => Mode::TextToImage,
        };
        let Some(tier) = tier else {
            let known = fields_of_request();
            let bounds = (mode, max_prompt_chars);
            return Err(generation::faults_without_model(fields, bounds, &known));
        };
        if !self.models.contains(&tier) {
            self.models.push(tier);
        }
        generation::parse_fields(
            fields,
            Endpoint { tier, mode },
            0,
            self.bounds.catalog,
            max_prompt_chars,
            &self.known[tier.index()],
        )
    }

    /// A custom id must be unique and must not equal the default (the position) of another request.
    fn check_custom_ids(&mut self) {
        let mut taken: HashMap<&str, usize> = HashMap::with_capacity(self.custom_ids.len());
        for (at, custom_id) in &self.custom_ids {
            let default = custom_id.parse::<usize>().ok();
            let default = default.filter(|it| it.to_string() == *custom_id);
            let other = default
                .filter(|it| self.unnamed.contains(it))
                .or_else(|| taken.get(custom_id.as_str()).copied());
            match other {
                Some(other) => {
                    let mut message = format!("is also that of {REQUESTS}[{other}]");
                    if let Some(line) = self.lines.get(other) {
                        message += &format!(" (line {line})");
                    }
                    let fault = FieldFault::new(CUSTOM_ID, message);
                    self.faults
                        .add_with(|| locate(*at, self.lines.get(*at), fault));
                }
                None => {
                    taken.insert(custom_id, *at);
                }
            }
        }
    }
}

fn known_of(tier: &Tier) -> Vec<&'static str> {
    let endpoint = Endpoint {
        tier: *tier,
        mode: Mode::ImageToImage,
    };
    known_fields(generation::useful_fields(endpoint))
}

/// All fields of a request of a batch.
pub(super) fn fields_of_request() -> Vec<&'static str> {
    known_fields(generation::fields(Mode::ImageToImage))
}

/// The fields of a request of a batch, from those of a generation call.
fn known_fields(of_call: impl IntoIterator<Item = &'static str>) -> Vec<&'static str> {
    let of_call = of_call.into_iter().filter(|name| *name != "callback_url");
    [CUSTOM_ID, MODEL].into_iter().chain(of_call).collect()
}

fn custom_id(fields: &mut Fields<'_>) -> Option<String> {
    let custom_id = fields.optional_string(CUSTOM_ID)?;
    let chars = custom_id.chars().count();
    if !(1..=MAX_CUSTOM_ID_CHARS).contains(&chars) {
        let message = format!("has {chars} characters; 1 to {MAX_CUSTOM_ID_CHARS} are allowed");
        fields.fault(CUSTOM_ID, message);
        return None;
    }
    Some(custom_id)
}

/// Prefixes the field with the position of its request, and the message with the line of the request, if it has one.
fn locate(at: usize, line: Option<&usize>, fault: FieldFault) -> FieldFault {
    let FieldFault { field, message } = fault;
    let (field, message) = match field.as_str() {
        // The parser counts lines within the request.
        "body" if line.is_some() => (
            format!("{REQUESTS}[{at}]"),
            message.replace(" at line 1 column ", " at column "),
        ),
        "body" => (format!("{REQUESTS}[{at}]"), message),
        field => (format!("{REQUESTS}[{at}].{field}"), message),
    };
    match line {
        Some(line) => FieldFault::new(field, format!("on line {line}: {message}")),
        None => FieldFault::new(field, message),
    }
}
