//! `contents`: the prompt and the input images.

use super::fields::{Field, Object};
use crate::api::generation::url_fault;
use crate::compat::refusal::Refusal;
use tintype_storage::domain::json::Json;
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
}

#[derive(Default)]
struct Turn {
    is_model: bool,
    texts: Vec<String>,
    images: Vec<InputImage>,
}

/// Reads `contents` and `systemInstruction`.
///
/// Consecutive entries of one role are one turn, as for Gemini. The texts of the last user turn are the prompt, and its images are
/// inputs. The images of earlier model turns are inputs too, because the user continues to work on them; of these the oldest are
/// dropped beyond the 14 inputs of a job. Earlier texts are ignored, because they describe images that already exist.
///
/// # Errors
/// A field has the wrong type, there is no prompt, or the last turn has too many images.
pub fn read(body: &Object<'_>, max_prompt_chars: usize) -> Result<Content, Refusal> {
    // Without it, the image would show something else, and be charged.
    if let Some(cached) = body.get("cachedContent")? {
        let message = "is not supported; send all contents in each request";
        return Err(Refusal::field(cached.path, message));
    }
    let contents = body
        .get("contents")?
        .ok_or_else(|| Refusal::missing("contents", ""))?;
    if matches!(contents.value, Json::String(_)) {
        return Err(Refusal::field("contents", "must be an array of objects"));
    }
    let mut turns: Vec<Turn> = Vec::new();
    for entry in contents.entries() {
        let turn = parse_turn(&entry)?;
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
        .ok_or_else(|| Refusal::field("contents", "must contain a user turn"))?;
    turns.truncate(last + 1);
    let last_turn = turns.pop().unwrap_or_default();
    if last_turn.images.len() > MAX_INPUTS {
        let message = format!(
            "has {} images in its last turn; at most {MAX_INPUTS} are allowed",
            last_turn.images.len()
        );
        return Err(Refusal::field("contents", message));
    }
    let mut images: Vec<InputImage> = turns
        .into_iter()
        .filter(|turn| turn.is_model)
        .flat_map(|turn| turn.images)
        .collect();
    let free_slots = MAX_INPUTS - last_turn.images.len();
    images.drain(..images.len().saturating_sub(free_slots));
    images.extend(last_turn.images);
    let mut texts = system_instruction(body)?;
    texts.push(last_turn.texts.join("\n"));
    if texts.last().is_some_and(String::is_empty) {
        let message = "must contain text in the last user turn";
        return Err(Refusal::field("contents", message));
    }
    let prompt = texts.join("\n\n");
    let chars = prompt.chars().count();
    if chars > max_prompt_chars {
        let message = format!("has {chars} characters; at most {max_prompt_chars} are allowed");
        return Err(Refusal::field("contents", message));
    }
    Ok(Content { prompt, images })
}

fn system_instruction(body: &Object<'_>) -> Result<Vec<String>, Refusal> {
    let Some(instruction) = body.get("systemInstruction")? else {
        return Ok(Vec::new());
    };
    let text = match instruction.value {
        // The SDKs wrap a string in a content object; other clients do not.
        Json::String(text) => text.replace('\0', ""),
        _ => parse_turn(&instruction)?.texts.join("\n"),
    };
    Ok(Some(text)
        .filter(|text| !text.is_empty())
        .into_iter()
        .collect())
}

fn parse_turn(found: &Field<'_>) -> Result<Turn, Refusal> {
    let object = found.object()?;
    let mut turn = Turn {
        is_model: object
            .text("role")?
            .is_some_and(|(_, role)| role == "model"),
        ..Turn::default()
    };
    if let Some(parts) = object.get("parts")? {
        for part in parts.entries() {
            parse_part(&part, &mut turn)?;
        }
    }
    Ok(turn)
}

/// Ignores parts of other kinds, such as function calls and code.
fn parse_part(part: &Field<'_>, turn: &mut Turn) -> Result<(), Refusal> {
    let object = part.object()?;
    if object.is_set("thought")? {
        return Ok(());
    }
    if let Some((_, text)) = object.text("text")? {
        let text = text.replace('\0', "");
        if !text.is_empty() {
            turn.texts.push(text);
        }
    }
    if let Some(data) = object.get("inlineData")? {
        turn.images.push(parse_inline(&data)?);
    }
    if let Some(file) = object.get("fileData")? {
        turn.images.push(parse_file(&file)?);
    }
    Ok(())
}

fn parse_inline(found: &Field<'_>) -> Result<InputImage, Refusal> {
    let (field, number) = found
        .object()?
        .text("data")?
        .ok_or_else(|| Refusal::missing(format!("{}.data", found.path), ""))?;
    // The scanner has replaced the data with this number.
    let number = number
        .parse()
        .map_err(|_| Refusal::field(&field, "must be base64"))?;
    Ok(InputImage {
        field,
        source: Source::Inline(number),
    })
}

fn parse_file(found: &Field<'_>) -> Result<InputImage, Refusal> {
    let (field, uri) = found
        .object()?
        .text("fileUri")?
        .ok_or_else(|| Refusal::missing(format!("{}.fileUri", found.path), ""))?;
    if uri.starts_with("data:") {
        let message = "must start with http:// or https://; send the data itself as inlineData";
        return Err(Refusal::field(field, message));
    }
    if let Some(message) = url_fault(uri) {
        return Err(Refusal::field(field, message));
    }
    Ok(InputImage {
        field,
        source: Source::Url(uri.to_owned()),
    })
}

#[cfg(test)]
mod tests;
