//! `contents`: what is to be shown, and the pictures that it is made from.

use super::fields::{Found, Object};
use crate::compat::refusal::Refusal;
use tintype_storage::domain::json::Json;
use tintype_storage::domain::request::{MAX_INPUTS, MAX_URL_CHARS};

/// What a conversation asks for.
#[derive(Debug, PartialEq, Eq)]
pub struct Content {
    /// The system instruction, a blank line, and the texts of the last turn of the user, one per line.
    pub prompt: String,
    /// In the order of the conversation.
    pub pictures: Vec<Picture>,
}

/// A picture that is an input.
#[derive(Debug, PartialEq, Eq)]
pub struct Picture {
    /// The field that names it.
    pub field: String,
    /// Where it is.
    pub source: Source,
}

/// Where a picture is.
#[derive(Debug, PartialEq, Eq)]
pub enum Source {
    /// In the body, under this number.
    Inline(usize),
    /// To be fetched.
    Url(String),
}

#[derive(Default)]
struct Turn {
    is_model: bool,
    texts: Vec<String>,
    pictures: Vec<Picture>,
}

/// Reads `contents` and `systemInstruction` of a body.
///
/// The last turn that is not the model's counts: its texts are the prompt, its pictures are inputs. Of the turns before it
/// the model's pictures are inputs too, since they are what is to be worked on further; past the 14 that a job may have the
/// oldest of these are left out. Earlier words were meant for pictures that are there already, and are passed over.
///
/// # Errors
/// A field of the wrong form, no prompt, or too many pictures in the last turn.
pub fn read(body: &Object<'_>, max_prompt_chars: usize) -> Result<Content, Refusal> {
    let contents = body
        .get("contents")?
        .ok_or_else(|| Refusal::field("contents", "is required"))?;
    if matches!(contents.value, Json::String(_)) {
        return Err(Refusal::field("contents", "must be an array of objects"));
    }
    let turns: Vec<Turn> = contents
        .entries()
        .iter()
        .map(turn)
        .collect::<Result<_, _>>()?;
    let last = turns
        .iter()
        .rposition(|turn| !turn.is_model)
        .ok_or_else(|| Refusal::field("contents", "must have a turn of the user"))?;
    let mut turns: Vec<Turn> = turns.into_iter().take(last + 1).collect();
    let asked = turns.pop().unwrap_or_default();
    if asked.pictures.len() > MAX_INPUTS {
        let message = format!(
            "has {} images in its last turn; at most {MAX_INPUTS} are allowed",
            asked.pictures.len()
        );
        return Err(Refusal::field("contents", message));
    }
    let mut pictures: Vec<Picture> = turns
        .into_iter()
        .filter(|turn| turn.is_model)
        .flat_map(|turn| turn.pictures)
        .collect();
    let room = MAX_INPUTS - asked.pictures.len();
    pictures.drain(..pictures.len().saturating_sub(room));
    pictures.extend(asked.pictures);
    let mut texts = system(body)?;
    texts.push(asked.texts.join("\n"));
    if texts.last().is_some_and(String::is_empty) {
        let message = "must have a text in the last turn of the user";
        return Err(Refusal::field("contents", message));
    }
    let prompt = texts.join("\n\n");
    let chars = prompt.chars().count();
    if chars > max_prompt_chars {
        let message = format!("has {chars} characters; at most {max_prompt_chars} are allowed");
        return Err(Refusal::field("contents", message));
    }
    Ok(Content { prompt, pictures })
}

/// What goes before the prompt; nothing where there is none.
fn system(body: &Object<'_>) -> Result<Vec<String>, Refusal> {
    let Some(instruction) = body.get("systemInstruction")? else {
        return Ok(Vec::new());
    };
    let text = match instruction.value {
        // The SDKs wrap a bare text; others do not.
        Json::String(text) => text.replace('\0', ""),
        _ => turn(&instruction)?.texts.join("\n"),
    };
    Ok(Some(text)
        .filter(|text| !text.is_empty())
        .into_iter()
        .collect())
}

fn turn(found: &Found<'_>) -> Result<Turn, Refusal> {
    let object = found.object()?;
    let mut turn = Turn {
        is_model: object
            .text("role")?
            .is_some_and(|(_, role)| role == "model"),
        ..Turn::default()
    };
    if let Some(parts) = object.get("parts")? {
        for part in parts.entries() {
            read_part(&part, &mut turn)?;
        }
    }
    Ok(turn)
}

/// Parts of other kinds (calls of functions, code) say nothing about a picture and are passed over.
fn read_part(part: &Found<'_>, turn: &mut Turn) -> Result<(), Refusal> {
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
        turn.pictures.push(inline(&data)?);
    }
    if let Some(file) = object.get("fileData")? {
        turn.pictures.push(file_of(&file)?);
    }
    Ok(())
}

fn inline(found: &Found<'_>) -> Result<Picture, Refusal> {
    let (field, number) = found
        .object()?
        .text("data")?
        .ok_or_else(|| Refusal::field(format!("{}.data", found.path), "is required"))?;
    // The scanner has put the number there.
    let number = number
        .parse()
        .map_err(|_| Refusal::field(&field, "must be base64"))?;
    Ok(Picture {
        field,
        source: Source::Inline(number),
    })
}

fn file_of(found: &Found<'_>) -> Result<Picture, Refusal> {
    let (field, uri) = found
        .object()?
        .text("fileUri")?
        .ok_or_else(|| Refusal::field(format!("{}.fileUri", found.path), "is required"))?;
    if !uri.starts_with("http://") && !uri.starts_with("https://") {
        let message = if uri.starts_with("data:") {
            "must start with http:// or https://; send the data itself as inlineData"
        } else {
            "must start with http:// or https://"
        };
        return Err(Refusal::field(field, message));
    }
    let chars = uri.chars().count();
    if chars > MAX_URL_CHARS {
        let message = format!("has {chars} characters; at most {MAX_URL_CHARS} are allowed");
        return Err(Refusal::field(field, message));
    }
    Ok(Picture {
        field,
        source: Source::Url(uri.to_owned()),
    })
}

#[cfg(test)]
mod tests;
