//! Parses the body of a new interaction.

use crate::application::caller::payer::Payer;
use crate::application::settings::Settings;
use crate::compat::conversation::{Content, InputImage, NO_BASE64, Source, Turn};
use crate::compat::gemini::content::image_at_url;
use crate::compat::gemini::options;
use crate::compat::gemini::request::{ParsedBody, no_interaction};
use crate::compat::jobs::submission::check_scope;
use crate::compat::models;
use crate::compat::refusal::Refusal;
use crate::compat::request_body::fields::{Field, Object};
use crate::compat::request_body::scanner::MAX_DEPTH;
use tintype_storage::domain::ids::JobId;
use tintype_storage::json::Json;

const PREVIOUS: &str = "previous_interaction_id";
/// Members without which the image, or what happens with it, would be another one than the caller expects.
const UNSUPPORTED: [(&str, &str); 3] = [
    (
        "agent",
        "is not supported; name one of the models in `model`",
    ),
    (
        "cached_content",
        "is not supported; send all contents in each request",
    ),
    (
        "webhook_config",
        "is not supported; get the interaction until its status is not `in_progress`, or use the native interface, which calls webhooks",
    ),
];

/// A body whose images are not validated yet.
pub struct Body {
    /// The model id that the caller sent.
    pub model: String,
    pub content: ParsedBody,
    pub previous: Option<JobId>,
    pub mode: Mode,
}

/// How the caller gets the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Wait,
    Stream,
    Background,
}

impl Body {
    /// # Errors
    /// The text is not JSON, the model is unknown, the key is not scoped for it, or a field is invalid.
    pub fn parse(
        text: &str,
        version: &str,
        caller: &Payer,
        settings: &Settings,
    ) -> Result<Self, Refusal> {
        let json = Json::parse(text, MAX_DEPTH)?;
        let body = Object::of("", &json)?;
        body.refuse(&UNSUPPORTED)?;
        let (_, model) = body.required("model")?;
        let tier = models::tier_of(&settings.config.tiers, model)
            .ok_or_else(|| models::unknown(model, version, "CreateInteraction"))?;
        check_scope(caller, tier, model)?;
        let previous = previous(&body)?;
        let turns = turns(&body, previous)?;
        let system = body.text("system_instruction")?;
        let system = system.map(|(_, text)| text.replace('\0', ""));
        let max_chars = settings.config.jobs.max_prompt_chars;
        let content = Content::of_turns(turns, system, "input", max_chars)?;
        Ok(Self {
            model: model.to_owned(),
            content: ParsedBody {
                prompt: content.prompt,
                images: content.images,
                options: options::read_interaction(&body, tier, &settings.catalog)?,
            },
            previous,
            mode: mode(&body)?,
        })
    }
}

fn mode(body: &Object<'_>) -> Result<Mode, Refusal> {
    match (body.is_set("background")?, body.is_set("stream")?) {
        (true, true) => Err(Refusal::field(
            "stream",
            "must be false with `background`; get the interaction until its status is not `in_progress`",
        )),
        (true, false) => Ok(Mode::Background),
        (false, true) => Ok(Mode::Stream),
        (false, false) => Ok(Mode::Wait),
    }
}

fn previous(body: &Object<'_>) -> Result<Option<JobId>, Refusal> {
    let Some((_, id)) = body.text(PREVIOUS)? else {
        return Ok(None);
    };
    let parsed = id.parse().map_err(|_| no_interaction(id))?;
    Ok(Some(parsed))
}

/// The turns of the input, after the turn of the model that the previous interaction is.
fn turns(body: &Object<'_>, previous: Option<JobId>) -> Result<Vec<Turn>, Refusal> {
    let input = body.get("input")?;
    let input = input.ok_or_else(|| Refusal::missing("input", ""))?;
    let previous = previous.map(|job| InputImage {
        field: PREVIOUS.into(),
        source: Source::Earlier(job),
    });
    let mut turns = vec![Turn::of_model(previous)];
    for entry in input.entries() {
        turns.extend(turn(&entry)?);
    }
    Ok(turns)
}

/// An entry of the input: a text, a content, a step, or a turn of an older SDK. Other steps, such as thoughts, are ignored.
fn turn(entry: &Field<'_>) -> Result<Option<Turn>, Refusal> {
    let mut turn = Turn::default();
    if let Json::String(text) = entry.value {
        turn.add_text(text);
        return Ok(Some(turn));
    }
    let object = entry.object()?;
    let kind = object.text("type")?.map(|(_, kind)| kind);
    let role = object.text("role")?.map(|(_, role)| role);
    turn.is_model = kind == Some("model_output") || role == Some("model");
    match (kind, role) {
        (Some("user_input" | "model_output"), _) | (None, Some(_)) => {
            if let Some(content) = object.get("content")? {
                for part in content.entries() {
                    add_content(&part, &mut turn)?;
                }
            }
        }
        (Some("text" | "image" | "audio" | "document" | "video"), _) => {
            add_content(entry, &mut turn)?;
        }
        (Some(_), _) => return Ok(None),
        (None, None) => return Err(Refusal::missing(format!("{}.type", entry.path), "")),
    }
    Ok(Some(turn))
}

fn add_content(part: &Field<'_>, turn: &mut Turn) -> Result<(), Refusal> {
    if let Json::String(text) = part.value {
        turn.add_text(text);
        return Ok(());
    }
    let object = part.object()?;
    match object.text("type")? {
        Some((_, "text")) => {
            if let Some((_, text)) = object.text("text")? {
                turn.add_text(text);
            }
            Ok(())
        }
        Some((_, "image")) => {
            turn.images
                .push(match (object.text("data")?, object.text("uri")?) {
                    (Some((field, number)), _) => InputImage::inline(field, number, NO_BASE64),
                    (None, Some((field, url))) => image_at_url(field, url, "data"),
                    (None, None) => {
                        let advice = "or send the URL of the image as uri";
                        return Err(Refusal::missing(object.path_of("data"), advice));
                    }
                });
            Ok(())
        }
        Some((field, "audio" | "document" | "video")) => {
            let message = "must be `text` or `image`: these models take no other input";
            Err(Refusal::field(field, message))
        }
        Some(_) => Ok(()),
        None => Err(Refusal::missing(format!("{}.type", part.path), "")),
    }
}
