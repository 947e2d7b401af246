//! The body of `POST /v1/responses`.

use super::input::{self, EarlierImage, InputImage, Members};
use crate::application::caller::payer::Payer;
use crate::application::settings::Settings;
use crate::compat::models;
use crate::compat::openai::edit_body::image_url;
use crate::compat::openai::metadata;
use crate::compat::openai::object_ids::parse_response_id;
use crate::compat::openai::options::{Options, RawOptions, members_of};
use crate::compat::refusal::Refusal;
use tintype_storage::domain::json::Json;

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
const NO_OPTIONS: [&str; 5] = ["type", "model", "prompt", "stream", "response_format"];

/// A request whose images are not resolved yet.
#[derive(Debug)]
pub struct Request {
    pub options: Options,
    /// The path of the tool.
    tool: String,
    /// The model that the caller named.
    pub model: String,
    pub images: Vec<InputImage>,
    /// The path of the URL of the mask, and the URL.
    pub mask: Option<(String, String)>,
    pub metadata: Option<Json>,
    /// As the caller wrote it.
    pub previous: Option<String>,
    /// Answer before the image is generated.
    pub background: bool,
}

impl Request {
    /// A refusal of the mask, with the path of its member in this body.
    pub fn of_mask(&self, refusal: Refusal) -> Refusal {
        renamed(refusal, |_| format!("{}.{MASK}", self.tool))
    }
}

/// Ignores members that other models than those for images use, such as `temperature` and `reasoning`.
///
/// # Errors
/// The first missing or invalid member; the model does not exist, or the key may not use it.
pub fn read(text: &str, caller: &Payer, settings: &Settings) -> Result<Request, Refusal> {
    let mut body = Members(members_of(text)?);
    for (name, message) in UNSUPPORTED {
        if body.take(name).is_some() {
            return Err(Refusal::field(name, message));
        }
    }
    check_tool_choice(body.take(TOOL_CHOICE))?;
    let (path, mut tool) = find_tool(body.take(TOOLS))?;
    let background = body.flag("background")?;
    let stream = body.flag("stream")?;
    if background && stream {
        let message = "is not supported with `stream`; get the response at /v1/responses/{id}";
        return Err(Refusal::field("background", message));
    }
    let model = model(
        body.text("", "model")?,
        tool.text(&path, "model")?,
        settings,
    );
    let previous = body.text("", PREVIOUS)?;
    let previous_image = previous.clone().map(|id| EarlierImage {
        field: PREVIOUS.to_owned(),
        job: parse_response_id(&id),
        id,
    });
    let (instructions, input) = (body.take(input::INSTRUCTIONS), body.take(input::FIELD));
    let input = input::read(input, instructions, previous_image)?;
    let metadata = metadata::read(body.take(metadata::FIELD))?;
    let mask = tool
        .take(MASK)
        .map(|mask| image_url(&format!("{path}.{MASK}"), mask));
    let mask = mask.transpose()?;
    check_action(&path, &mut tool, input.images.is_empty())?;
    if mask.is_some() && input.images.is_empty() {
        let message = "needs an image in `input`, or `previous_response_id`";
        return Err(Refusal::field(format!("{path}.{MASK}"), message));
    }
    let mut members = tool.0;
    members.retain(|(name, _)| !NO_OPTIONS.contains(&name.as_str()));
    members.push(("model".into(), Json::String(model.clone())));
    members.push(("prompt".into(), Json::String(input.prompt)));
    members.push(("stream".into(), Json::Bool(stream)));
    let options = RawOptions::of_members(members).and_then(|it| it.read(caller, settings));
    let options = options.map_err(|refusal| in_body(refusal, &path))?;
    if options.count > 1 {
        let message = "must be 1; send one request for each image";
        return Err(Refusal::field(format!("{path}.n"), message));
    }
    Ok(Request {
        options,
        tool: path,
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
fn check_tool_choice(choice: Option<Json>) -> Result<(), Refusal> {
    let is_image = match &choice {
        None => true,
        Some(Json::String(text)) => text == "auto" || text == "required",
        Some(Json::Object(members)) => members.iter().any(|(name, value)| {
            let kinds = [TOOL, "allowed_tools"];
            name == "type" && kinds.iter().any(|it| *value == Json::String((*it).into()))
        }),
        Some(_) => false,
    };
    let message = || format!("must be `auto`, `required` or {ADVICE}");
    is_image
        .then_some(())
        .ok_or_else(|| Refusal::field(TOOL_CHOICE, message()))
}

/// The path and the members of the tool that generates images.
fn find_tool(tools: Option<Json>) -> Result<(String, Members), Refusal> {
    let tools = match tools {
        None => return Err(Refusal::missing(TOOLS, &format!("add {ADVICE}"))),
        Some(Json::Array(tools)) => tools,
        Some(_) => return Err(Refusal::field(TOOLS, "must be an array")),
    };
    let is_kind =
        |(name, value): &(String, Json)| name == "type" && *value == Json::String(TOOL.into());
    for (at, tool) in tools.into_iter().enumerate() {
        if let Json::Object(members) = tool
            && members.iter().any(is_kind)
        {
            return Ok((format!("{TOOLS}[{at}]"), Members(members)));
        }
    }
    Err(Refusal::field(TOOLS, format!("must contain {ADVICE}")))
}

/// The model of the tool if this service has it, because other programs name a chat model in the request.
fn model(of_request: Option<String>, of_tool: Option<String>, settings: &Settings) -> String {
    let exists = |model: &String| models::tier_of(&settings.config.tiers, model).is_some();
    let model = of_tool.clone().filter(exists).or(of_request).or(of_tool);
    model.unwrap_or_else(|| "fast".into())
}

fn check_action(path: &str, tool: &mut Members, has_no_image: bool) -> Result<(), Refusal> {
    let action = tool.text(path, ACTION)?;
    let message = match action.as_deref() {
        Some("edit") if has_no_image => {
            "must be `auto` or `generate` without an image in `input` and without `previous_response_id`"
        }
        None | Some("auto" | "generate" | "edit") => return Ok(()),
        Some(_) => "must be `auto`, `generate` or `edit`",
    };
    Err(Refusal::field(format!("{path}.{ACTION}"), message))
}

/// A refusal of the options, with the path of the member in this body.
fn in_body(refusal: Refusal, path: &str) -> Refusal {
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
