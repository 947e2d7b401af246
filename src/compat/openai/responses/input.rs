//! `input` and `instructions`: the prompt and the input images.

use crate::compat::openai::edit_body::image_url;
use crate::compat::openai::object_ids::parse_image_call_id;
use crate::compat::refusal::Refusal;
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::json::Json;
use tintype_storage::domain::request::MAX_INPUTS;

pub const FIELD: &str = "input";
pub const INSTRUCTIONS: &str = "instructions";

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
    Url(String, String),
    Earlier(EarlierImage),
}

/// An image that an earlier response contains.
#[derive(Debug, PartialEq, Eq)]
pub struct EarlierImage {
    /// The path of its id.
    pub field: String,
    /// As the caller wrote it.
    pub id: String,
    /// `None` if the id has another form.
    pub job: Option<JobId>,
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
pub fn read(
    input: Option<Json>,
    instructions: Option<Json>,
    previous: Option<EarlierImage>,
) -> Result<Input, Refusal> {
    let mut conversation = Conversation {
        generated: previous.map(InputImage::Earlier).into_iter().collect(),
        ..Conversation::default()
    };
    match instructions {
        None => {}
        Some(Json::String(text)) => conversation.instructions.push(text),
        Some(Json::Array(items)) => conversation.read_items(INSTRUCTIONS, items)?,
        Some(_) => return Err(Refusal::field(INSTRUCTIONS, "must be a string")),
    }
    match input {
        None => return Err(Refusal::missing(FIELD, "")),
        Some(Json::String(text)) => conversation.texts.push(text),
        Some(Json::Array(items)) => conversation.read_items(FIELD, items)?,
        Some(_) => return Err(Refusal::field(FIELD, "must be a string or an array")),
    }
    conversation.end()
}

impl Conversation {
    fn read_items(&mut self, list: &str, items: Vec<Json>) -> Result<(), Refusal> {
        for (at, item) in items.into_iter().enumerate() {
            let path = format!("{list}[{at}]");
            let Json::Object(members) = item else {
                return Err(Refusal::field(path, "must be an object"));
            };
            self.read_item(&path, Members(members))?;
        }
        Ok(())
    }

    /// Ignores items of other kinds, such as reasoning and function calls.
    fn read_item(&mut self, path: &str, mut item: Members) -> Result<(), Refusal> {
        let (kind, role) = (item.text(path, "type")?, item.text(path, "role")?);
        match (kind.as_deref(), role.as_deref()) {
            (None | Some("message"), Some("user")) => {
                if !std::mem::replace(&mut self.is_user_turn, true) {
                    self.texts.clear();
                    self.images.clear();
                }
                let (texts, images) = read_content(path, item)?;
                self.texts.extend(texts);
                self.images.extend(images);
            }
            (None | Some("message"), Some("system" | "developer")) => {
                let (texts, _) = read_content(path, item)?;
                self.instructions.push(texts.join("\n"));
            }
            (None | Some("message"), Some("assistant")) => self.is_user_turn = false,
            (None | Some("message"), _) => {
                let message = "must be `user`, `assistant`, `system` or `developer`";
                return Err(Refusal::field(format!("{path}.role"), message));
            }
            (Some("image_generation_call" | "item_reference"), _) => {
                self.is_user_turn = false;
                self.generated.extend(read_generated(path, item)?);
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
fn read_content(
    path: &str,
    mut message: Members,
) -> Result<(Vec<String>, Vec<InputImage>), Refusal> {
    let path = format!("{path}.content");
    let parts = match message.take("content") {
        None => return Err(Refusal::missing(path, "")),
        Some(Json::String(text)) => return Ok((vec![text], Vec::new())),
        Some(Json::Array(parts)) => parts,
        Some(_) => return Err(Refusal::field(path, "must be a string or an array")),
    };
    let (mut texts, mut images) = (Vec::new(), Vec::new());
    for (at, part) in parts.into_iter().enumerate() {
        let path = format!("{path}[{at}]");
        let Json::Object(members) = part else {
            return Err(Refusal::field(path, "must be an object"));
        };
        let mut part = Members(members);
        match part.text(&path, "type")?.as_deref() {
            Some("input_text") => texts.extend(part.text(&path, "text")?),
            Some("input_image") => {
                let (field, url) = image_url(&path, Json::Object(part.0))?;
                images.push(InputImage::Url(field, url));
            }
            _ => {
                let message =
                    "must be `input_text` or `input_image`; images are generated from these only";
                return Err(Refusal::field(format!("{path}.type"), message));
            }
        }
    }
    texts.retain(|it| !it.is_empty());
    Ok((texts, images))
}

/// The image of an output item that the caller sends back: with its data, or only its id. `None` for other items and failed ones.
fn read_generated(path: &str, mut item: Members) -> Result<Option<InputImage>, Refusal> {
    if let Some(url) = item.text(path, "result")? {
        return Ok(Some(InputImage::Url(format!("{path}.result"), url)));
    }
    let is_failed = item.text(path, "status")?.as_deref() == Some("failed");
    let id = item.text(path, "id")?.filter(|_| !is_failed);
    let image = id.map(|id| EarlierImage {
        field: format!("{path}.id"),
        job: parse_image_call_id(&id),
        id,
    });
    Ok(image.map(InputImage::Earlier))
}

/// The members of an object.
pub struct Members(pub Vec<(String, Json)>);

impl Members {
    /// Removes and returns a member. `null` counts as missing.
    pub fn take(&mut self, name: &str) -> Option<Json> {
        let at = self.0.iter().position(|(it, _)| it == name)?;
        Some(self.0.swap_remove(at).1).filter(|it| *it != Json::Null)
    }

    /// Removes and returns a member that must be a string. The path of the body is empty.
    ///
    /// # Errors
    /// It is not a string.
    pub fn text(&mut self, path: &str, name: &str) -> Result<Option<String>, Refusal> {
        match self.take(name) {
            None => Ok(None),
            Some(Json::String(text)) => Ok(Some(text)),
            Some(_) if path.is_empty() => Err(Refusal::field(name, "must be a string")),
            Some(_) => Err(Refusal::field(format!("{path}.{name}"), "must be a string")),
        }
    }

    /// Removes and returns a member that must be true or false, its default.
    ///
    /// # Errors
    /// It has another type.
    pub fn flag(&mut self, name: &str) -> Result<bool, Refusal> {
        match self.take(name) {
            None => Ok(false),
            Some(Json::Bool(value)) => Ok(value),
            Some(_) => Err(Refusal::field(name, "must be true or false")),
        }
    }
}
