//! The body of `POST /v1/responses`.

use super::input;
use crate::application::caller::payer::Payer;
use crate::application::settings::Settings;
use crate::compat::conversation::{InputImage, Source};
use crate::compat::models;
use crate::compat::openai::edit_body::image_url;
use crate::compat::openai::mask;
use crate::compat::openai::metadata;
use crate::compat::openai::object_ids::{no_such_previous, parse_response_id};
use crate::compat::openai::options::{Options, RawOptions};
use crate::compat::refusal::{Kind, Refusal};
use crate::compat::request_body::fields::{Field, Object};
use crate::compat::request_body::scanner::MAX_DEPTH;
use tintype_storage::json::Json;

const TOOLS: &str = "tools";
const TOOL_CHOICE: &str = "tool_choice";
const TOOL: &str = "image_generation";
pub const PREVIOUS: &str = "previous_response_id";
const ADVICE: &str = r#"`{"type": "image_generation"}`, because the models only generate images"#;
/// Ignoring them would charge for a different image.
const UNSUPPORTED: [(&str, &str); 2] = [
    (
        "conversation",
        "is not supported; send `previous_response_id`, or all items in `input`",
    ),
    ("prompt", "is not supported; send the text in `input`"),
];
const MASK: &str = "input_image_mask";
const ACTION: &str = "action";
/// Members of the tool that are no options of an image.
const NO_OPTIONS: [&str; 7] = [
    "type",
    "model",
    "prompt",
    "stream",
    "response_format",
    MASK,
    ACTION,
];

/// A request whose images are not resolved yet.
#[derive(Debug)]
pub struct Request {
    pub options: Options,
    /// The path of the tool.
    tool: String,
    /// The model that the caller named.
    pub model: String,
    pub images: Vec<InputImage>,
    pub mask: Option<InputImage>,
    pub metadata: Option<Json>,
    /// As the caller wrote it.
    pub previous: Option<String>,
    /// Answer before the image is generated.
    pub background: bool,
}

impl Request {
    /// A refusal that names the mask by its path in this body.
    pub fn of_mask(&self, refusal: Refusal) -> Refusal {
        match refusal.field.as_deref() {
            Some(mask::FIELD) => renamed(refusal, |_| format!("{}.{MASK}", self.tool)),
            _ => refusal,
        }
    }
}

/// Ignores members that other models than those for images use, such as `temperature` and `reasoning`.
///
/// # Errors
/// The first missing or invalid member; the model does not exist, or the key may not use it.
pub fn read(text: &str, caller: &Payer, settings: &Settings) -> Result<Request, Refusal> {
    let json = Json::parse(text, MAX_DEPTH)?;
    let body = Object::of("", &json)?;
    body.refuse(&UNSUPPORTED)?;
    check_tool_choice(&body)?;
    let found = find_tool(&body)?;
    let tool = found.object()?;
    let background = body.flag("background")?;
    let stream = body.flag("stream")?;
    if background && stream {
        let message = "is not supported with `stream`; get the response at /v1/responses/{id}";
        return Err(Refusal::field("background", message));
    }
    let model = model(&body, &tool, settings)?;
    let previous = body.text(PREVIOUS)?.map(|(_, id)| id.to_owned());
    let previous_image = previous.as_deref().map(|id| {
        let job = parse_response_id(id).ok_or_else(|| no_such_previous(id, PREVIOUS))?;
        Ok::<_, Refusal>(InputImage {
            field: PREVIOUS.to_owned(),
            source: Source::Earlier(job),
        })
    });
    let max_prompt_chars = settings.config.jobs.max_prompt_chars;
    let input = input::read(&body, previous_image.transpose()?, max_prompt_chars)?;
    let metadata = metadata::read(&body)?;
    let mask = tool.get(MASK)?.map(|mask| image_url(&mask)).transpose()?;
    check_action(&tool, input.images.is_empty())?;
    if mask.is_some() && input.images.is_empty() {
        let message = "needs an image in `input`, or `previous_response_id`";
        return Err(Refusal::field(tool.path_of(MASK), message));
    }
    let options = RawOptions::of_object(&tool, &NO_OPTIONS).and_then(|mut options| {
        options.set("model", model.clone())?;
        options.set("prompt", input.prompt)?;
        options.set("stream", stream.to_string())?;
        options.read(caller, settings)
    });
    let options = options.map_err(|refusal| in_body(refusal, &found.path))?;
    if options.count > 1 {
        let message = "must be 1; send one request for each image";
        return Err(Refusal::field(tool.path_of("n"), message));
    }
    Ok(Request {
        options,
        tool: found.path,
        model,
        images: input.images,
        mask,
        metadata,
        previous,
        background,
    })
}

/// # Errors
/// The choice is not to generate an image.
fn check_tool_choice(body: &Object<'_>) -> Result<(), Refusal> {
    let Some(choice) = body.get(TOOL_CHOICE)? else {
        return Ok(());
    };
    let is_image = match choice.value {
        Json::String(text) => text == "auto" || text == "required",
        Json::Object(_) => {
            let kind = choice.object()?.text("type")?;
            matches!(kind, Some((_, TOOL | "allowed_tools")))
        }
        _ => false,
    };
    let message = || format!("must be `auto`, `required` or {ADVICE}");
    is_image
        .then_some(())
        .ok_or_else(|| Refusal::field(TOOL_CHOICE, message()))
}

/// The tool that generates images.
fn find_tool<'a>(body: &Object<'a>) -> Result<Field<'a>, Refusal> {
    let tools = body.get(TOOLS)?;
    let tools = tools.ok_or_else(|| Refusal::missing(TOOLS, &format!("add {ADVICE}")))?;
    if !matches!(tools.value, Json::Array(_)) {
        return Err(Refusal::field(TOOLS, "must be an array"));
    }
    let generates_images = |tool: &Field<'_>| {
        let members = tool.object();
        members.is_ok_and(|it| matches!(it.text("type"), Ok(Some((_, TOOL)))))
    };
    let found = tools.entries().find(generates_images);
    found.ok_or_else(|| Refusal::field(TOOLS, format!("must contain {ADVICE}")))
}

/// The model of the tool if this service has it, because other programs name a chat model in the request.
fn model(body: &Object<'_>, tool: &Object<'_>, settings: &Settings) -> Result<String, Refusal> {
    let of_request = body.text("model")?.map(|(_, model)| model);
    let of_tool = tool.text("model")?.map(|(_, model)| model);
    let exists = |model: &&str| models::tier_of(&settings.config.tiers, model).is_some();
    let model = of_tool.filter(exists).or(of_request).or(of_tool);
    Ok(model.unwrap_or("fast").to_owned())
}

fn check_action(tool: &Object<'_>, has_no_image: bool) -> Result<(), Refusal> {
    let Some((field, action)) = tool.text(ACTION)? else {
        return Ok(());
    };
    let message = match action {
        "edit" if has_no_image => {
            "must be `auto` or `generate` without an image in `input` and without `previous_response_id`"
        }
        "auto" | "generate" | "edit" => return Ok(()),
        _ => "must be `auto`, `generate` or `edit`",
    };
    Err(Refusal::field(field, message))
}

/// A refusal of the options, with the path of the member in this body.
fn in_body(mut refusal: Refusal, path: &str) -> Refusal {
    if refusal.kind == Kind::UnknownModel {
        refusal.message +=
            "; a program that names a chat model works if its tool names a model of this service";
    }
    renamed(refusal, |field| match field {
        "model" => field.to_owned(),
        "prompt" => input::FIELD.to_owned(),
        _ => format!("{path}.{field}"),
    })
}

fn renamed(refusal: Refusal, new_name: impl FnOnce(&str) -> String) -> Refusal {
    let Some(field) = refusal.field else {
        return refusal;
    };
    let name = new_name(&field);
    Refusal {
        message: match refusal.message.strip_prefix(&field) {
            Some(rest) => format!("{name}{rest}"),
            None => refusal.message,
        },
        field: Some(name),
        ..refusal
    }
}
