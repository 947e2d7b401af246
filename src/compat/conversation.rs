//! Conversations of both APIs: their turns, and the prompt and the input images that they mean.

use super::refusal::Refusal;
use super::request_body::body::ReceivedBody;
use crate::api::generation::url_fault;
use crate::application::submission::generation_request::Input;
use std::fmt;
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
    /// An image that no job can have: an error only if the request uses it, because callers send whole conversations again.
    Refused(Refusal),
}

/// Of data that is not base64.
pub const NO_BASE64: &str = "must be base64";
/// Of an image whose data was not taken out of the body.
pub const NO_DATA_URL: &str = "must be an http:// or https:// URL; a batch takes no data URLs";

impl InputImage {
    /// An image whose data the scanner has replaced with a number. `unseen` is the fault of data that the scanner has not seen.
    pub fn inline(field: String, number: &str, unseen: &str) -> Self {
        match number.parse().map(Source::Inline) {
            Ok(source) => Self { field, source },
            Err(_) => Self::refused(field, unseen),
        }
    }

    pub fn at_url(field: String, url: &str) -> Self {
        match url_fault(url) {
            Some(message) => Self::refused(field, message),
            None => {
                let source = Source::Url(url.to_owned());
                Self { field, source }
            }
        }
    }

    pub fn refused(field: String, message: impl fmt::Display) -> Self {
        let source = Source::Refused(Refusal::field(&field, message));
        Self { field, source }
    }

    fn refusal(&self) -> Option<&Refusal> {
        match &self.source {
            Source::Refused(refusal) => Some(refusal),
            Source::Inline(_) | Source::Url(_) | Source::Earlier(_) => None,
        }
    }

    /// As an input of a job. `received` has the data of inline images, and is `None` for a request of a batch.
    ///
    /// # Errors
    /// The image is refused, or its data is not a valid image.
    pub fn into_input(self, received: Option<&mut ReceivedBody>) -> Result<Input, Refusal> {
        let field = self.field;
        match (self.source, received) {
            (Source::Inline(number), Some(received)) => received.take(number, field),
            (Source::Inline(_), None) => Err(Refusal::field(field, NO_DATA_URL)),
            (Source::Url(url), _) => Ok(Input::Url { url, field }),
            (Source::Earlier(job), _) => Ok(Input::Earlier { job, field }),
            (Source::Refused(refusal), _) => Err(refusal),
        }
    }
}

#[derive(Default)]
pub struct Turn {
    pub is_model: bool,
    pub texts: Vec<String>,
    pub images: Vec<InputImage>,
}

impl Turn {
    /// A turn of the model with images that it generated.
    pub fn of_model(images: impl IntoIterator<Item = InputImage>) -> Self {
        Self {
            is_model: true,
            images: images.into_iter().collect(),
            ..Self::default()
        }
    }

    pub fn add_text(&mut self, text: &str) {
        let text = text.replace('\0', "");
        if !text.is_empty() {
            self.texts.push(text);
        }
    }
}

impl Content {
    /// Consecutive entries of one role are one turn. The texts of the last user turn are the prompt, and its images are
    /// inputs. The images of earlier model turns are inputs too, because the user continues to work on them; of these the oldest are
    /// dropped beyond the 14 inputs of a job. Earlier texts are ignored, because they describe images that already exist.
    ///
    /// `system` is the system instruction, if there is one. Errors name `field`.
    ///
    /// # Errors
    /// There is no prompt, or it is too long; the last turn has too many images; or an image that the job needs is refused.
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
        if let Some(refusal) = images.iter().find_map(InputImage::refusal) {
            return Err(refusal.clone());
        }
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
