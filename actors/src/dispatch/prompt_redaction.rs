//! Removes a job's prompt from a backend's message: some servers repeat the input that they refuse.

use std::collections::HashSet;
use std::fmt::Write as _;

/// Shorter matches occur in ordinary sentences.
const MIN_CHARS: usize = 12;

/// Replaces the parts of a message that are parts of the prompt, in upper or lower case, as it is or escaped as in JSON, a URL or a form. A
/// message is one line, so the prompt is compared as one line; escaped, it may have its line breaks. A server may repeat only the start and the end of a long prompt. A prompt
/// that is shorter than a part is replaced where it stands as a whole.
pub fn redact_prompt(message: &str, prompt: &str) -> String {
    let words: Vec<&str> = prompt.split_whitespace().collect();
    let line = words.join(" ");
    let lower_case = lower_case(message);
    let mut is_prompt = vec![false; lower_case.len()];
    let escaped = |text: &str| {
        let percent_encoded = percent_encoded(text);
        [
            json_escaped(text, false),
            json_escaped(text, true),
            percent_encoded.replace("%20", "+"),
            percent_encoded,
        ]
    };
    let forms = escaped(prompt.trim()).into_iter().chain(escaped(&line));
    for form in forms.chain([line.clone()]).collect::<HashSet<_>>() {
        mark(&mut is_prompt, &lower_case, &form);
    }
    let mut redacted = String::with_capacity(message.len());
    for (at, character) in message.chars().enumerate() {
        if !is_prompt[at] {
            redacted.push(character);
        } else if at == 0 || !is_prompt[at - 1] {
            redacted.push_str("[removed]");
        }
    }
    redacted
}

/// Marks the parts of a message that are parts of a form of the prompt.
fn mark(is_prompt: &mut [bool], message: &[char], form: &str) {
    let form = lower_case(form);
    let size = form.len().min(MIN_CHARS);
    if size == 0 {
        return;
    }
    let parts: HashSet<&[char]> = form.windows(size).collect();
    for (start, part) in message.windows(size).enumerate() {
        let end = start + size;
        let is_delimited = || {
            let around = [
                start.checked_sub(1).map(|it| message[it]),
                message.get(end).copied(),
            ];
            around.into_iter().flatten().all(|it| !it.is_alphanumeric())
        };
        if parts.contains(part) && (size == MIN_CHARS || is_delimited()) {
            is_prompt[start..end].fill(true);
        }
    }
}

/// One character for each, so that positions stay the same.
fn lower_case(text: &str) -> Vec<char> {
    let lower = |it: char| it.to_lowercase().next().unwrap_or(it);
    text.chars().map(lower).collect()
}

fn json_escaped(text: &str, only_ascii: bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '"' | '\\' => escaped.extend(['\\', character]),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            _ if only_ascii && !character.is_ascii() => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    let _ = write!(escaped, "\\u{unit:04x}");
                }
            }
            _ => escaped.push(character),
        }
    }
    escaped
}

fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(byte.into());
            }
            _ => {
                let _ = write!(encoded, "%{byte:02x}");
            }
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_loses_the_parts_that_repeat_the_prompt() {
        let long = "a red fox in the snow, at dawn,\n  as painted by an old master";
        for (message, prompt, expected) in [
            (
                "input_value='a red fox...n old master'",
                long,
                "input_value='a red fox...[removed]'",
            ),
            (
                "input_value='a red fox in ...an old master'",
                long,
                "input_value='[removed]...[removed]'",
            ),
            (
                "no a red fox in the snow, at dawn, as painted by an old master!",
                long,
                "no [removed]!",
            ),
            (
                "cannot draw 雪の中の赤い狐、夜明けに、水彩で",
                "雪の中の赤い狐、夜明けに、水彩で",
                "cannot draw [removed]",
            ),
            (
                "no \"cat\" in this category",
                "cat",
                "no \"[removed]\" in this category",
            ),
            (
                "the model is not in the list",
                long,
                "the model is not in the list",
            ),
            (
                "bad prompt portrait of erika mustermann",
                "Portrait of Erika Mustermann",
                "bad prompt [removed]",
            ),
            (
                r#"{"prompt": "Portrait of \"Erika\" M\u00fcller \ud83e\udd8a"}"#,
                "Portrait of \"Erika\" Müller 🦊",
                r#"{"prompt": "[removed]"}"#,
            ),
            (
                r#"{"prompt": "Portrait of \"Erika\" Müller"}"#,
                "Portrait of \"Erika\" Müller",
                r#"{"prompt": "[removed]"}"#,
            ),
            (
                "GET /draw?q=Portrait%20of%20Erika%20M%C3%BCller failed",
                "Portrait of Erika Müller",
                "GET /draw?q=[removed] failed",
            ),
            (
                "GET /draw?q=Portrait+of+Erika+M%C3%BCller failed",
                "Portrait of Erika Müller",
                "GET /draw?q=[removed] failed",
            ),
            (
                r#"bad prompt "erika\nm\u00fcller\n\tbonn""#,
                "Erika\nMüller\n\tBonn",
                r#"bad prompt "[removed]""#,
            ),
            ("no connection", " \n", "no connection"),
            ("", "a fox", ""),
        ] {
            assert_eq!(redact_prompt(message, prompt), expected);
        }
    }
}
