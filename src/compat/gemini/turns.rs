//! The turns of a conversation, and the prompt and the input images that they mean.

use crate::api::generation::url_fault;
use crate::compat::refusal::Refusal;
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::request::MAX_INPUTS;

#[derive(Debug, PartialEq, Eq)]
pub struct Content {
    /// The system instruction, a blank line, and the texts of the last user turn, one per line.
    pub prompt: String,
    /// The input images, in the order of the conversation.
    pub images: Vec<InputImage>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct InputImage {
    /// The path of its field.
    pub field: String,
    pub source: Source,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Source {
    /// The number that the scanner gave to the image in the body.
    Inline(usize),
    Url(String),
    /// The image of an earlier job.
    Earlier(JobId),
}

#[derive(Default)]
pub struct Turn {
    pub is_model: bool,
    pub texts: Vec<String>,
    pub images: Vec<InputImage>,
}

impl Turn {
    pub fn add_text(&mut self, text: &str) {
        let text = text.replace('\0', "");
        if !text.is_empty() {
            self.texts.push(text);
        }
    }

    /// Adds an image whose data the scanner has replaced with a number.
    ///
    /// # Errors
    /// The scanner has not seen the data.
    pub fn add_inline(&mut self, field: String, number: &str) -> Result<(), Refusal> {
        let number = number
            .parse()
            .map_err(|_| Refusal::field(&field, "must be base64"))?;
        let source = Source::Inline(number);
        self.images.push(InputImage { field, source });
        Ok(())
    }

    /// Adds an image at a URL. `inline_form` is what has the data of an image instead.
    ///
    /// # Errors
    /// The URL is invalid.
    pub fn add_url(&mut self, field: String, url: &str, inline_form: &str) -> Result<(), Refusal> {
        if url.starts_with("data:") {
            let message = format!(
                "must start with http:// or https://; send the data itself as {inline_form}"
            );
            return Err(Refusal::field(field, message));
        }
        if let Some(message) = url_fault(url) {
            return Err(Refusal::field(field, message));
        }
        let source = Source::Url(url.to_owned());
        self.images.push(InputImage { field, source });
        Ok(())
    }
}

impl Content {
    /// Consecutive entries of one role are one turn, as for Gemini. The texts of the last user turn are the prompt, and its images are
    /// inputs. The images of earlier model turns are inputs too, because the user continues to work on them; of these the oldest are
    /// dropped beyond the 14 inputs of a job. Earlier texts are ignored, because they describe images that already exist.
    ///
    /// `system` is the system instruction, if there is one. Errors name `field`.
    ///
    /// # Errors
    /// There is no prompt, or it is too long; or the last turn has too many images.
    pub fn of_turns(
        entries: impl IntoIterator<Item = Turn>,
        system: Option<String>,
        field: &str,
        max_prompt_chars: usize,
    ) -> Result<Self, Refusal> {
        let mut turns: Vec<Turn> = Vec::new();
        for turn in entries {
            match turns.last_mut() {
                Some(last) if last.is_model == turn.is_model => {
                    last.texts.extend(turn.texts);
                    last.images.extend(turn.images);
                }
                _ => turns.push(turn),
            }
        }
        let last = turns
            .iter()
            .rposition(|turn| !turn.is_model)
            .ok_or_else(|| Refusal::field(field, "must contain a user turn"))?;
        turns.truncate(last + 1);
        let last_turn = turns.pop().unwrap_or_default();
        if last_turn.images.len() > MAX_INPUTS {
            let message = format!(
                "has {} images in its last turn; at most {MAX_INPUTS} are allowed",
                last_turn.images.len()
            );
            return Err(Refusal::field(field, message));
        }
        let mut images: Vec<InputImage> = turns
            .into_iter()
            .filter(|turn| turn.is_model)
            .flat_map(|turn| turn.images)
            .collect();
        let free_slots = MAX_INPUTS - last_turn.images.len();
        images.drain(..images.len().saturating_sub(free_slots));
        images.extend(last_turn.images);
        let mut texts = Vec::from_iter(system.filter(|text| !text.is_empty()));
        texts.push(last_turn.texts.join("\n"));
        if texts.last().is_some_and(String::is_empty) {
            let message = "must contain text in the last user turn";
            return Err(Refusal::field(field, message));
        }
        let prompt = texts.join("\n\n");
        let chars = prompt.chars().count();
        if chars > max_prompt_chars {
            let message = format!("has {chars} characters; at most {max_prompt_chars} are allowed");
            return Err(Refusal::field(field, message));
        }
        Ok(Self { prompt, images })
    }
}
