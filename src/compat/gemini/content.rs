//! `contents`: the prompt and the input images.

use crate::compat::conversation::{Content, InputImage, NO_BASE64, Turn};
use crate::compat::refusal::Refusal;
use crate::compat::request_body::fields::{Field, Object};
use crate::compat::request_body::scanner::DATA_SCHEME;
use tintype_storage::json::Json;

/// Reads `contents` and `systemInstruction`.
///
/// # Errors
/// A field has the wrong type, there is no prompt, or the last turn has too many images.
pub fn read(body: &Object<'_>, max_prompt_chars: usize) -> Result<Content, Refusal> {
    // Without it, the image would show something else, and be charged.
    let message = "is not supported; send all contents in each request";
    body.refuse(&[("cachedContent", message)])?;
    let contents = body
        .get("contents")?
        .ok_or_else(|| Refusal::missing("contents", ""))?;
    if matches!(contents.value, Json::String(_)) {
        return Err(Refusal::field("contents", "must be an array of objects"));
    }
    let turns = contents.entries().map(|entry| parse_turn(&entry));
    let turns = turns.collect::<Result<Vec<_>, _>>()?;
    let system = system_instruction(body)?;
    Content::of_turns(turns, system, "contents", max_prompt_chars)
}

fn system_instruction(body: &Object<'_>) -> Result<Option<String>, Refusal> {
    let Some(instruction) = body.get("systemInstruction")? else {
        return Ok(None);
    };
    Ok(Some(match instruction.value {
        // The SDKs wrap a string in a content object; other clients do not.
        Json::String(text) => text.replace('\0', ""),
        _ => parse_turn(&instruction)?.texts.join("\n"),
    }))
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
        turn.add_text(text);
    }
    if let Some(data) = object.get("inlineData")? {
        let data = data.object()?;
        let (field, number) = data.required("data")?;
        turn.images
            .push(InputImage::inline(field, number, NO_BASE64));
    }
    if let Some(file) = object.get("fileData")? {
        let file = file.object()?;
        let (field, url) = file.required("fileUri")?;
        turn.images.push(image_at_url(field, url, "inlineData"));
    }
    Ok(())
}

/// An image at a URL. `inline_form` is what has the data of an image instead.
pub fn image_at_url(field: String, url: &str, inline_form: &str) -> InputImage {
    if url.starts_with(DATA_SCHEME) {
        let message =
            format!("must start with http:// or https://; send the data itself as {inline_form}");
        return InputImage::refused(field, message);
    }
    InputImage::at_url(field, url)
}

#[cfg(test)]
mod tests;
