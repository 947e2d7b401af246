//! Parses the body of a generation call into a valid request.

use crate::application::submission::generation_request::{GenerationRequest, Input, Shape};
use crate::inputs;
use tintype_api::fields::{FieldFault, Fields, kind};
use tintype_storage::domain::aspect_ratio::AspectRatio;
use tintype_storage::domain::catalog::{Catalog, Offer};
use tintype_storage::domain::job::Origin;
use tintype_storage::domain::request::{
    MAX_INPUTS, MAX_METADATA_BYTES, MAX_METADATA_DEPTH, MAX_URL_CHARS,
};
use tintype_storage::domain::tier::{Mode, Resolution, Tier};
use tintype_storage::json::{Json, JsonFaultKind, compact_length};

/// One of the six generation calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    pub tier: Tier,
    pub mode: Mode,
}

const FIELDS: [&str; 6] = [
    "prompt",
    "aspect_ratio",
    "resolution",
    inputs::FIELD,
    "callback_url",
    "metadata",
];

pub fn fields(mode: Mode) -> impl Iterator<Item = &'static str> {
    let all = FIELDS.into_iter();
    all.filter(move |name| mode == Mode::ImageToImage || *name != inputs::FIELD)
}

/// The fields to suggest in errors. Omits `resolution` on the fast model, where it may only be `null`.
pub fn useful_fields(endpoint: Endpoint) -> Vec<&'static str> {
    let fields = fields(endpoint.mode);
    fields
        .filter(|name| *name != "resolution" || endpoint.tier != Tier::Fast)
        .collect()
}

/// Parses a body, or lists all of its faults. `uploads` is the number of input images that arrived beside the body.
pub fn parse(
    body: &[u8],
    endpoint: Endpoint,
    uploads: usize,
    catalog: &Catalog,
    max_prompt_chars: usize,
) -> Result<GenerationRequest, Vec<FieldFault>> {
    let known = useful_fields(endpoint);
    parse_fields(
        Fields::parse(body)?,
        endpoint,
        uploads,
        catalog,
        max_prompt_chars,
        &known,
    )
}

/// Parses the fields of a body. Reports remaining fields as unknown and lists the `known` ones.
pub fn parse_fields(
    mut fields: Fields<'_>,
    endpoint: Endpoint,
    uploads: usize,
    catalog: &Catalog,
    max_prompt_chars: usize,
    known: &[&str],
) -> Result<GenerationRequest, Vec<FieldFault>> {
    let prompt = prompt(&mut fields, max_prompt_chars);
    let aspect = aspect(&mut fields, endpoint, catalog);
    let offer = offer(&mut fields, endpoint.tier, catalog);
    let inputs = read_inputs(&mut fields, endpoint.mode, uploads);
    let callback_url = callback_url(&mut fields);
    let metadata = metadata(&mut fields);
    fields.finish(known)?;
    // All are `Some`: a missing one is a fault above.
    match (prompt, aspect, offer, inputs) {
        (Some(prompt), Some(shape), Some(offer), Some(inputs)) => Ok(GenerationRequest {
            callback_url,
            metadata,
            ..GenerationRequest::new(offer, shape, prompt, inputs, Origin::Native)
        }),
        _ => Err(vec![FieldFault::new("body", "is incomplete")]),
    }
}

/// The faults of a request without a model, except those that depend on the model.
pub fn faults_without_model(
    mut fields: Fields<'_>,
    (mode, max_prompt_chars): (Mode, usize),
    known: &[&str],
) -> Vec<FieldFault> {
    prompt(&mut fields, max_prompt_chars);
    read_inputs(&mut fields, mode, 0);
    metadata(&mut fields);
    // Which ratios and sizes are offered depends on the model.
    if let Some(text) = fields.required_string("aspect_ratio")
        && text != "auto"
        && text.parse::<AspectRatio>().is_err()
    {
        fields.fault("aspect_ratio", "must be a ratio such as 16:9, or auto");
    }
    if let Some(text) = fields.optional_string("resolution")
        && text.parse::<Resolution>().is_err()
    {
        let sizes: Vec<_> = Resolution::names().collect();
        let sizes = sizes.join(", ");
        fields.fault("resolution", format!("must be one of {sizes}"));
    }
    fields.finish(known).err().unwrap_or_default()
}

fn prompt(fields: &mut Fields<'_>, max_chars: usize) -> Option<String> {
    let mut prompt = fields.required_string("prompt")?;
    if prompt.contains('\0') {
        prompt.retain(|it| it != '\0');
    }
    match prompt.chars().count() {
        0 => fields.fault("prompt", "must have at least 1 character"),
        count if count > max_chars => {
            fields.fault(
                "prompt",
                format!("has {count} characters; at most {max_chars} are allowed"),
            );
        }
        _ => return Some(prompt),
    }
    None
}

fn aspect(fields: &mut Fields<'_>, endpoint: Endpoint, catalog: &Catalog) -> Option<Shape> {
    let text = fields.required_string("aspect_ratio")?;
    let offer = catalog.tier(endpoint.tier);
    let auto = offer.auto && endpoint.mode == Mode::ImageToImage;
    if text == "auto" {
        if auto {
            return Some(Shape::OfInput);
        }
        let message = if offer.auto {
            "`auto` follows the first input image, so it is for url-generations only".to_owned()
        } else {
            format!("`auto` is not supported by the {} model", endpoint.tier)
        };
        fields.fault("aspect_ratio", message);
        return None;
    }
    match text
        .parse::<AspectRatio>()
        .ok()
        .filter(|ratio| offer.aspect_ratios.contains(ratio))
    {
        Some(ratio) => Some(Shape::Fixed(ratio)),
        None => {
            let mut offered: Vec<String> = offer
                .aspect_ratios
                .iter()
                .map(ToString::to_string)
                .collect();
            offered.extend(auto.then(|| "auto".to_owned()));
            let message = format!(
                "is not supported by the {} model; supported: {}",
                endpoint.tier,
                offered.join(", ")
            );
            fields.fault("aspect_ratio", message);
            None
        }
    }
}

/// The size with its price. A size without a price is refused, even the default.
fn offer(fields: &mut Fields<'_>, tier: Tier, catalog: &Catalog) -> Option<Offer> {
    let name = "resolution";
    let text = match fields.optional(name) {
        Some(_) if tier == Tier::Fast => {
            fields.fault(
                name,
                "is not accepted on the fast model, which always generates 1K; omit it",
            );
            return None;
        }
        Some(raw) => fields.string_of(name, raw)?,
        None => Resolution::K1.as_str().to_owned(),
    };
    let resolution = text.parse::<Resolution>().ok();
    let offer = resolution.and_then(|it| catalog.offer(tier, it));
    if offer.is_none() {
        let offered: Vec<&str> = catalog.tier(tier).resolution_names().collect();
        fields.fault(name, format!("must be one of {}", offered.join(", ")));
    }
    offer
}

/// Reads `input_images_urls` and reports every faulty entry.
fn read_inputs(fields: &mut Fields<'_>, mode: Mode, uploads: usize) -> Option<Vec<Input>> {
    let name = inputs::FIELD;
    let raw = match (mode, fields.raw(name)) {
        (Mode::TextToImage, None) => return Some(Vec::new()),
        (Mode::TextToImage, Some(raw)) if raw.get() == "null" => return Some(Vec::new()),
        (Mode::TextToImage, Some(_)) => {
            fields.fault(
                name,
                "is not accepted on text-generations; use url-generations",
            );
            return None;
        }
        (Mode::ImageToImage, None) if (1..=MAX_INPUTS).contains(&uploads) => {
            return Some(Vec::new());
        }
        (Mode::ImageToImage, None) => {
            fields.fault(name, "is required");
            return None;
        }
        (Mode::ImageToImage, Some(raw)) => raw,
    };
    let entries = fields.entries_of(name, raw)?;
    let mut read = Vec::with_capacity(entries.len().min(MAX_INPUTS));
    for (at, entry) in entries.iter().enumerate() {
        let field = || format!("{name}[{at}]");
        let Some(url) = fields.string_at(field, entry) else {
            continue;
        };
        match url_fault(&url) {
            Some(message) => fields.fault_with(|| FieldFault::new(field(), message)),
            // The list has too many entries.
            None if at >= MAX_INPUTS => {}
            None => read.push(Input::Url {
                url,
                field: field(),
            }),
        }
    }
    let count = entries.len() + uploads;
    if !(1..=MAX_INPUTS).contains(&count) {
        let message = format!("has {count} entries; 1 to {MAX_INPUTS} are allowed");
        fields.fault(name, message);
    }
    (read.len() == entries.len()).then_some(read)
}

/// The fault of the URL of an input image: a sentence without its subject.
pub fn url_fault(url: &str) -> Option<String> {
    let chars = url.chars().count();
    if chars > MAX_URL_CHARS {
        return Some(format!(
            "has {chars} characters; at most {MAX_URL_CHARS} are allowed"
        ));
    }
    let has_scheme = url.starts_with("http://") || url.starts_with("https://");
    (!has_scheme).then(|| "must start with http:// or https://".to_owned())
}

pub fn callback_url(fields: &mut Fields<'_>) -> Option<String> {
    let url = fields.optional_string("callback_url")?;
    let chars = url.chars().count();
    if !(1..=MAX_URL_CHARS).contains(&chars) {
        fields.fault(
            "callback_url",
            format!("has {chars} characters; 1 to {MAX_URL_CHARS} are allowed"),
        );
    }
    Some(url)
}

pub fn metadata(fields: &mut Fields<'_>) -> Option<Json> {
    let raw = fields.optional("metadata")?;
    if !raw.get().starts_with('{') {
        fields.fault("metadata", format!("must be an object, not {}", kind(raw)));
        return None;
    }
    // Before parsing: the tree may take many times the size of the text.
    let bytes = compact_length(raw);
    if bytes > MAX_METADATA_BYTES {
        let message =
            format!("has {bytes} bytes as compact JSON; at most {MAX_METADATA_BYTES} are allowed");
        fields.fault("metadata", message);
        return None;
    }
    match Json::from_raw(raw, MAX_METADATA_DEPTH) {
        Ok(metadata) => Some(metadata),
        Err(fault) => {
            let message = match fault.kind {
                JsonFaultKind::TooDeep => {
                    format!("is nested too deep; at most {MAX_METADATA_DEPTH} levels are allowed")
                }
                JsonFaultKind::Other(message) => message,
            };
            fields.fault(format!("metadata{}", fault.path), message);
            None
        }
    }
}
