//! `input` and `instructions`: the prompt and the input images.

use crate::compat::fields::{Field, Object};
use crate::compat::openai::edit_body::image_url;
use crate::compat::openai::object_ids::{no_such_item, parse_image_call_id};
use crate::compat::refusal::Refusal;
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::json::Json;
use tintype_storage::domain::request::MAX_INPUTS;

pub const FIELD: &str = "input";
const INSTRUCTIONS: &str = "instructions";

#[derive(Debug, PartialEq, Eq)]
pub struct Input {
    /// The instructions, a blank line, and the texts of the last user turn, one per line.
    pub prompt: String,
    /// Images that the model generated earlier, then those of the last user turn.
    pub images: Vec<InputImage>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum InputImage {
    /// The path of a URL, and the URL.
    Url((String, String)),
    /// The path of the id of an earlier response or of its image, and the job.
    Earlier(String, JobId),
}

#[derive(Default)]
struct Conversation {
    instructions: Vec<String>,
    generated: Vec<InputImage>,
    /// Of the last user turn.
    texts: Vec<String>,
    /// Of the last user turn.
    images: Vec<InputImage>,
    is_user_turn: bool,
}

/// Reads the conversation. `previous` is the image of the previous response.
///
/// Consecutive messages of the user are one turn. Generated images count wherever they are, because programs append them to a new
/// message too. Beyond the 14 inputs of a job, the oldest of them are dropped. Earlier texts are ignored, because they describe images
/// that already exist.
///
/// # Errors
/// A member has the wrong type, there is no prompt, or the last turn has too many images.
pub fn read(body: &Object<'_>, previous: Option<InputImage>) -> Result<Input, Refusal> {
    let mut conversation = Conversation {
        generated: Vec::from_iter(previous),
        ..Conversation::default()
    };
    if let Some(instructions) = body.get(INSTRUCTIONS)? {
        match instructions.value {
            Json::String(text) => conversation.instructions.push(text.clone()),
            Json::Array(_) => conversation.read_items(&instructions)?,
            _ => return Err(Refusal::field(INSTRUCTIONS, "must be a string")),
        }
    }
    let missing = || Refusal::missing(FIELD, "");
    let input = body.get(FIELD)?.ok_or_else(missing)?;
    match input.value {
        Json::String(text) => conversation.texts.push(text.clone()),
        Json::Array(_) => conversation.read_items(&input)?,
        _ => return Err(Refusal::field(FIELD, "must be a string or an array")),
    }
    conversation.end()
}

impl Conversation {
    /// Ignores items of other kinds, such as reasoning and function calls.
    fn read_items(&mut self, list: &Field<'_>) -> Result<(), Refusal> {
        for item in list.entries() {
            self.read_item(&item.object()?)?;
        }
        Ok(())
    }

    fn read_item(&mut self, item: &Object<'_>) -> Result<(), Refusal> {
        let text = |name| Ok::<_, Refusal>(item.text(name)?.map(|(_, text)| text));
        match (text("type")?, text("role")?) {
            (None | Some("message"), Some("user")) => {
                if !std::mem::replace(&mut self.is_user_turn, true) {
                    self.texts.clear();
                    self.images.clear();
                }
                let (texts, images) = read_content(item)?;
                self.texts.extend(texts);
                self.images.extend(images);
            }
            (None | Some("message"), Some("system" | "developer")) => {
                let (texts, _) = read_content(item)?;
                self.instructions.push(texts.join("\n"));
            }
            (None | Some("message"), Some("assistant")) => self.is_user_turn = false,
            (None | Some("message"), _) => {
                let message = "must be `user`, `assistant`, `system` or `developer`";
                return Err(Refusal::field(item.path_of("role"), message));
            }
            (Some("image_generation_call" | "item_reference"), _) => {
                self.is_user_turn = false;
                self.generated.extend(read_generated(item)?);
            }
            (Some(_), _) => self.is_user_turn = false,
        }
        Ok(())
    }

    fn end(self) -> Result<Input, Refusal> {
        let (mut images, last) = (self.generated, self.images);
        if last.len() > MAX_INPUTS {
            let message = format!(
                "has {} images in its last turn; at most {MAX_INPUTS} are allowed",
                last.len()
            );
            return Err(Refusal::field(FIELD, message));
        }
        let free_slots = MAX_INPUTS - last.len();
        images.drain(..images.len().saturating_sub(free_slots));
        images.extend(last);
        let prompt = self.texts.join("\n");
        if prompt.is_empty() {
            let message = "must contain text in the last user message";
            return Err(Refusal::field(FIELD, message));
        }
        let mut texts = self.instructions;
        texts.retain(|it| !it.is_empty());
        texts.push(prompt);
        Ok(Input {
            prompt: texts.join("\n\n"),
            images,
        })
    }
}

/// The texts and images of a message.
fn read_content(message: &Object<'_>) -> Result<(Vec<String>, Vec<InputImage>), Refusal> {
    let missing = || Refusal::missing(message.path_of("content"), "");
    let content = message.get("content")?.ok_or_else(missing)?;
    match content.value {
        Json::String(text) => return Ok((vec![text.clone()], Vec::new())),
        Json::Array(_) => {}
        _ => return Err(Refusal::field(content.path, "must be a string or an array")),
    }
    let (mut texts, mut images) = (Vec::new(), Vec::new());
    for part in content.entries() {
        let members = part.object()?;
        match members.text("type")? {
            Some((_, "input_text")) => {
                texts.extend(members.text("text")?.map(|(_, text)| text.to_owned()));
            }
            Some((_, "input_image")) => {
                images.push(InputImage::Url(image_url(&part)?));
            }
            _ => {
                let message =
                    "must be `input_text` or `input_image`; images are generated from these only";
                return Err(Refusal::field(members.path_of("type"), message));
            }
        }
    }
    texts.retain(|it| !it.is_empty());
    Ok((texts, images))
}

/// The image of an output item that the caller sends back: with its data, or only its id. `None` for other items and failed ones.
fn read_generated(item: &Object<'_>) -> Result<Option<InputImage>, Refusal> {
    if let Some((field, url)) = item.text("result")? {
        return Ok(Some(InputImage::Url((field, url.to_owned()))));
    }
    if let Some((_, "failed")) = item.text("status")? {
        return Ok(None);
    }
    let Some((field, id)) = item.text("id")? else {
        return Ok(None);
    };
    let job = parse_image_call_id(id).ok_or_else(|| no_such_item(id, &field))?;
    Ok(Some(InputImage::Earlier(field, job)))
}
