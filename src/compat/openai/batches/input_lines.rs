//! Parses a file of requests: one JSON object per line with `custom_id`, `method`, `url` and `body`.

use super::batch_body::path_of;
use crate::api::batch_form::without_byte_order_mark;
use crate::application::caller::payer::Payer;
use crate::application::settings::Settings;
use crate::application::submission::batch_request::BatchEntry;
use crate::compat::dialect::Dialect;
use crate::compat::openai::edit_body::{json_options, read_images};
use crate::compat::openai::edits::edit_request;
use crate::compat::openai::options::{Options, RawOptions};
use crate::compat::refusal::Refusal;
use crate::compat::request_body::fields::Object;
use crate::compat::request_body::scanner::MAX_DEPTH;
use std::collections::HashMap;
use tintype_api::fault_list::has_unlisted;
use tintype_storage::domain::file_batch::{BatchEndpoint, LineFault};
use tintype_storage::json::Json;

const MAX_CUSTOM_ID_CHARS: usize = 64;
/// Maximum bytes of all errors together, because they are part of a record.
const MAX_FAULT_BYTES: usize = 4_096;
/// A longer error message is truncated.
const MAX_MESSAGE_CHARS: usize = 300;

pub struct Input {
    /// At least one.
    pub entries: Vec<BatchEntry>,
    /// The results contain URLs of the images instead of their data.
    pub as_urls: bool,
}

pub type InputResult = Result<Input, Vec<LineFault>>;

/// # Errors
/// The first errors, each with its line.
pub fn read(
    content: &[u8],
    endpoint: BatchEndpoint,
    caller: &Payer,
    settings: &Settings,
) -> InputResult {
    let content = without_byte_order_mark(content);
    let lines = content.split(|byte| *byte == b'\n').zip(1..);
    let is_blank = |line: &[u8]| line.iter().all(u8::is_ascii_whitespace);
    let lines = lines.filter(|(line, _)| !is_blank(line));
    let mut file = File {
        endpoint,
        caller,
        settings,
        entries: Vec::new(),
        as_urls: None,
        names: HashMap::new(),
        faults: Vec::new(),
        fault_bytes: 0,
        unlisted: 0,
    };
    let max = settings.config.batches.max_requests;
    let mut count = 0;
    for (line, number) in lines {
        count += 1;
        if count > max {
            let message = format!("The file has more than {max} requests.");
            return Err(vec![Fault::new("too_many_tasks", message).on(None)]);
        }
        if let Err(fault) = file.add(line, number) {
            file.keep(fault.on(Some(number)));
        }
    }
    if count == 0 {
        let fault = Fault::new("empty_file", "The file has no requests.");
        return Err(vec![fault.on(None)]);
    }
    match file.faults.is_empty() {
        true => Ok(Input {
            entries: file.entries,
            as_urls: file.as_urls.unwrap_or(false),
        }),
        false => Err(file.into_faults()),
    }
}

struct File<'a> {
    endpoint: BatchEndpoint,
    caller: &'a Payer,
    settings: &'a Settings,
    entries: Vec<BatchEntry>,
    /// Taken from the first request.
    as_urls: Option<bool>,
    /// The line of each custom id.
    names: HashMap<String, u32>,
    faults: Vec<LineFault>,
    fault_bytes: usize,
    /// Errors beyond the limit.
    unlisted: usize,
}

impl File<'_> {
    fn add(&mut self, line: &[u8], number: u32) -> Result<(), Fault> {
        let most = self.settings.config.server.max_body_bytes;
        if line.len() > most {
            // As for a single request: a parsed line takes many times the memory of its text.
            let message = format!("This line has {} bytes, and may have {most}.", line.len());
            return Err(Fault::new(INVALID, message));
        }
        let line = parse(line)?;
        let line = Line(Object::of("", &line)?);
        let custom_id = line.custom_id()?;
        line.check_call(self.endpoint)?;
        let body = line.body()?;
        let body = Object::of("", body)?;
        let (images, options) = match self.endpoint {
            BatchEndpoint::Generations => (None, RawOptions::of_object(&body, &[])?),
            BatchEndpoint::Edits => (Some(read_images(&body, None)?), json_options(&body)?),
        };
        let options = options.read(self.caller, self.settings)?;
        self.check(&options)?;
        let request = match images {
            None => options.request(Vec::new(), None),
            Some(images) => edit_request(&options, images, None, self.settings)?,
        };
        if let Some(other) = self.names.insert(custom_id.clone(), number) {
            let message = format!("Line {other} has the same custom_id.");
            return Err(Fault::new("duplicate_custom_id", message).of("custom_id"));
        }
        // A custom id that equals the position is the default.
        let position = self.entries.len().to_string();
        let custom_id = Some(custom_id).filter(|it| *it != position);
        self.entries.push(BatchEntry::new(custom_id, request));
        Ok(())
    }

    /// Refuses options that only a single request may have.
    fn check(&mut self, options: &Options) -> Result<(), Fault> {
        if options.count > 1 {
            let message = "n must be 1 in a batch; write a line for each image";
            return Err(Fault::new(INVALID, message).of("body.n"));
        }
        if options.stream {
            let message = "stream must be false in a batch; the results are in a file";
            return Err(Fault::new(INVALID, message).of("body.stream"));
        }
        let first = *self.as_urls.get_or_insert(options.as_url);
        if first != options.as_url {
            let message = "response_format must be the same on all lines of a file";
            return Err(Fault::new(INVALID, message).of("body.response_format"));
        }
        Ok(())
    }

    /// Keeps an error until the limit is reached.
    fn keep(&mut self, fault: LineFault) {
        let param = fault.param.as_ref().map_or(0, String::len);
        self.fault_bytes += fault.message.len() + fault.code.len() + param;
        if self.faults.is_empty() || self.fault_bytes <= MAX_FAULT_BYTES {
            self.faults.push(fault);
        } else {
            self.unlisted += 1;
        }
    }

    /// The last fault counts those that are not listed.
    fn into_faults(mut self) -> Vec<LineFault> {
        if self.unlisted > 0 {
            let message = format!("The file {}.", has_unlisted(self.unlisted));
            self.faults
                .push(Fault::new("more_errors", message).on(None));
        }
        self.faults
    }
}

/// The default error code.
const INVALID: &str = "invalid_value";

/// An error of a line.
struct Fault {
    code: &'static str,
    message: String,
    param: Option<String>,
}

impl Fault {
    fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            param: None,
        }
    }

    fn of(self, param: &str) -> Self {
        Self {
            param: Some(param.to_owned()),
            ..self
        }
    }

    fn on(self, line: Option<u32>) -> LineFault {
        LineFault {
            code: self.code.to_owned(),
            message: self.message.chars().take(MAX_MESSAGE_CHARS).collect(),
            param: self.param,
            line,
        }
    }
}

impl From<Refusal> for Fault {
    /// An invalid option in `body`.
    fn from(refusal: Refusal) -> Self {
        Self {
            code: Dialect::OpenAi.code(&refusal).unwrap_or(INVALID),
            message: refusal.message,
            param: refusal.field.map(|field| format!("body.{field}")),
        }
    }
}

/// A line, which must be an object.
fn parse(line: &[u8]) -> Result<Json, Fault> {
    const CODE: &str = "invalid_json_line";
    let text =
        std::str::from_utf8(line).map_err(|_| Fault::new(CODE, "This line is not UTF-8."))?;
    match Json::parse(text, MAX_DEPTH) {
        Ok(line @ Json::Object(_)) => Ok(line),
        Ok(_) => Err(Fault::new(CODE, "This line is not a JSON object.")),
        Err(fault) => {
            let place = match fault.path.trim_start_matches('.') {
                "" => String::new(),
                path => format!("{path}: "),
            };
            let text = fault.kind;
            let message = format!("This line is not parseable as valid JSON: {place}{text}");
            Err(Fault::new(CODE, message))
        }
    }
}

struct Line<'a>(Object<'a>);

impl<'a> Line<'a> {
    fn required(&self, name: &'static str) -> Result<&'a Json, Fault> {
        let found = self.0.get(name)?.map(|it| it.value);
        found.ok_or_else(|| {
            let message = format!("Missing required parameter: '{name}'.");
            Fault::new("missing_required_parameter", message).of(name)
        })
    }

    fn custom_id(&self) -> Result<String, Fault> {
        match self.required("custom_id")? {
            Json::String(text) if (1..=MAX_CUSTOM_ID_CHARS).contains(&text.chars().count()) => {
                Ok(text.clone())
            }
            _ => {
                let message =
                    format!("custom_id must be a string of 1 to {MAX_CUSTOM_ID_CHARS} characters");
                Err(Fault::new(INVALID, message).of("custom_id"))
            }
        }
    }

    fn check_call(&self, endpoint: BatchEndpoint) -> Result<(), Fault> {
        if *self.required("method")? != Json::String("POST".into()) {
            return Err(Fault::new("invalid_method", "method must be `POST`").of("method"));
        }
        let path = path_of(endpoint);
        if *self.required("url")? != Json::String(path.into()) {
            let message = format!("url must be the endpoint of the batch, `{path}`");
            return Err(Fault::new("url_mismatch", message).of("url"));
        }
        Ok(())
    }

    fn body(&self) -> Result<&'a Json, Fault> {
        match self.required("body")? {
            body @ Json::Object(_) => Ok(body),
            _ => Err(Fault::new(INVALID, "body must be an object").of("body")),
        }
    }
}
