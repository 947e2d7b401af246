//! Removes a job's prompt from a backend's message: some servers repeat the input that they refuse.

use std::collections::HashSet;

/// Shorter matches occur in ordinary sentences.
const MIN_CHARS: usize = 12;

/// Replaces the parts of a message that are parts of the prompt. A message is one line, so the prompt is compared as one line. A server
/// may repeat only the start and the end of a long prompt. A prompt that is shorter than a part is replaced where it stands as a whole.
pub fn redact_prompt(message: &str, prompt: &str) -> String {
    let words: Vec<&str> = prompt.split_whitespace().collect();
    let prompt: Vec<char> = words.join(" ").chars().collect();
    let size = prompt.len().min(MIN_CHARS);
    if size == 0 {
        return message.to_owned();
    }
    let parts: HashSet<&[char]> = prompt.windows(size).collect();
    let chars: Vec<char> = message.chars().collect();
    let mut is_prompt = vec![false; chars.len()];
    for (start, part) in chars.windows(size).enumerate() {
        let end = start + size;
        let is_delimited = || {
            let around = [
                start.checked_sub(1).map(|it| chars[it]),
                chars.get(end).copied(),
            ];
            around.into_iter().flatten().all(|it| !it.is_alphanumeric())
        };
        if parts.contains(part) && (size == MIN_CHARS || is_delimited()) {
            is_prompt[start..end].fill(true);
        }
    }
    let mut redacted = String::with_capacity(message.len());
    for (at, character) in chars.into_iter().enumerate() {
        if !is_prompt[at] {
            redacted.push(character);
        } else if at == 0 || !is_prompt[at - 1] {
            redacted.push_str("[removed]");
        }
    }
    redacted
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
            ("no connection", " \n", "no connection"),
            ("", "a fox", ""),
        ] {
            assert_eq!(redact_prompt(message, prompt), expected);
        }
    }
}
