//! `input` and `instructions`: the prompt and the input images.

use crate::compat::conversation::{Content, InputImage, Source, Turn};
use crate::compat::openai::edit_body::{image_at, image_url};
use crate::compat::openai::object_ids::{no_such_item, parse_image_call_id};
use crate::compat::refusal::Refusal;
use crate::compat::request_body::fields::{Field, Object};
use std::iter;
use tintype_storage::json::Json;

pub const FIELD: &str = "input";
const INSTRUCTIONS: &str = "instructions";

#[derive(Default)]
struct Items {
    /// The texts of system messages too.
    instructions: Turn,
    generated: Vec<InputImage>,
    turns: Vec<Turn>,
}

/// Reads the conversation. `previous` is the image of the previous response.
///
/// Generated images precede all turns wherever they are, because programs append them to a new message too.
///
/// # Errors
/// A member has the wrong type, or those of [`Content::of_turns`].
pub fn read(
    body: &Object<'_>,
    previous: Option<InputImage>,
    max_prompt_chars: usize,
) -> Result<Content, Refusal> {
    let mut items = Items {
        generated: Vec::from_iter(previous),
        ..Items::default()
    };
    if let Some(instructions) = body.get(INSTRUCTIONS)? {
        match instructions.value {
            Json::String(text) => items.instructions.add_text(text),
            Json::Array(_) => items.read(&instructions)?,
            _ => return Err(Refusal::field(INSTRUCTIONS, "must be a string")),
        }
    }
    let missing = || Refusal::missing(FIELD, "");
    let input = body.get(FIELD)?.ok_or_else(missing)?;
    match input.value {
        Json::String(text) => {
            let mut turn = Turn::default();
            turn.add_text(text);
            items.turns.push(turn);
        }
        Json::Array(_) => items.read(&input)?,
        _ => return Err(Refusal::field(FIELD, "must be a string or an array")),
    }
    let turns = iter::once(Turn::of_model(items.generated)).chain(items.turns);
    let system = items.instructions.texts.join("\n\n");
    Content::of_turns(turns, Some(system), FIELD, max_prompt_chars)
}

impl Items {
    fn read(&mut self, list: &Field<'_>) -> Result<(), Refusal> {
        for item in list.entries() {
            self.read_item(&item.object()?)?;
        }
        Ok(())
    }

    /// Reads nothing of items of other kinds, such as reasoning and function calls: they only end a turn of the user.
    fn read_item(&mut self, item: &Object<'_>) -> Result<(), Refusal> {
        let text = |name| Ok::<_, Refusal>(item.text(name)?.map(|(_, text)| text));
        let turn = match (text("type")?, text("role")?) {
            (None | Some("message"), Some("user")) => read_message(item)?,
            (None | Some("message"), Some("system" | "developer")) => {
                let message = read_message(item)?;
                self.instructions.add_text(&message.texts.join("\n"));
                return Ok(());
            }
            (None | Some("message"), Some("assistant")) => Turn::of_model([]),
            (None | Some("message"), _) => {
                let message = "must be `user`, `assistant`, `system` or `developer`";
                return Err(Refusal::field(item.path_of("role"), message));
            }
            (Some("image_generation_call" | "item_reference"), _) => {
                self.generated.extend(read_generated(item)?);
                Turn::of_model([])
            }
            (Some(_), _) => Turn::of_model([]),
        };
        self.turns.push(turn);
        Ok(())
    }
}

fn read_message(message: &Object<'_>) -> Result<Turn, Refusal> {
    let missing = || Refusal::missing(message.path_of("content"), "");
    let content = message.get("content")?.ok_or_else(missing)?;
    let mut turn = Turn::default();
    match content.value {
        Json::String(text) => {
            turn.add_text(text);
            return Ok(turn);
        }
        Json::Array(_) => {}
        _ => return Err(Refusal::field(content.path, "must be a string or an array")),
    }
    for part in content.entries() {
        let members = part.object()?;
        match members.text("type")? {
            Some((_, "input_text")) => {
                if let Some((_, text)) = members.text("text")? {
                    turn.add_text(text);
                }
            }
            Some((_, "input_image")) => turn.images.push(image_url(&part)?),
            _ => {
                let message =
                    "must be `input_text` or `input_image`; images are generated from these only";
                return Err(Refusal::field(members.path_of("type"), message));
            }
        }
    }
    Ok(turn)
}

/// The image of an output item that the caller sends back: with its data, or only its id. `None` for other items and failed ones.
fn read_generated(item: &Object<'_>) -> Result<Option<InputImage>, Refusal> {
    if let Some((field, url)) = item.text("result")? {
        return Ok(Some(image_at(field, url)));
    }
    if let Some((_, "failed")) = item.text("status")? {
        return Ok(None);
    }
    let Some((field, id)) = item.text("id")? else {
        return Ok(None);
    };
    let source = match parse_image_call_id(id) {
        Some(job) => Source::Earlier(job),
        None => Source::Refused(no_such_item(id, &field)),
    };
    Ok(Some(InputImage { field, source }))
}
