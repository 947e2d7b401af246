//! Escapes the prompt syntax of these servers and their common extensions, so that callers' prompts are plain text.
//!
//! A tag such as `<lora:name:1>` loads one of the operator's files, `<sd_cpp_extra_args>` changes any parameter, `{a|b}` and
//! `__name__` draw from the operator's word lists, brackets and parentheses change weights, `#` begins a comment that the server
//! drops, and the words `AND` and `BREAK` split the prompt.

/// Whole words in capitals that split a prompt.
const SPLITTING: [&str; 2] = ["AND", "BREAK"];

/// Escapes all prompt syntax. Keeps every character that carries meaning for a reader.
pub fn plain(prompt: &str) -> String {
    let mut text = String::with_capacity(prompt.len() + 16);
    let mut word = String::new();
    for c in prompt.chars() {
        if c.is_alphanumeric() || c == '_' {
            word.push(c);
            continue;
        }
        end_word(&mut word, &mut text);
        match c {
            '\\' | '(' | ')' | '[' | ']' => text.extend(['\\', c]),
            // No escape for braces works in every extension; parentheses have one.
            '{' => text.push_str("\\("),
            '}' => text.push_str("\\)"),
            // A tag begins with its name right after the bracket.
            '<' => text.push_str("< "),
            // The full-width form begins no comment.
            '#' => text.push('\u{ff03}'),
            c => text.push(c),
        }
    }
    end_word(&mut word, &mut text);
    text
}

fn end_word(word: &mut String, text: &mut String) {
    if SPLITTING.contains(&word.as_str()) {
        text.push_str(&word.to_ascii_lowercase());
    } else {
        let mut before = None;
        for c in word.chars() {
            // Two underscores in a row frame the name of a word list.
            if c == '_' && before == Some('_') {
                text.push(' ');
            }
            text.push(c);
            before = Some(c);
        }
    }
    word.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_prompt_syntax_is_neutralized() {
        for (asked, sent) in [
            ("a red fox, 35mm", "a red fox, 35mm"),
            ("a <lora:secret:1> b", "a < lora:secret:1> b"),
            (
                "<sd_cpp_extra_args>{\"seed\":1}</sd_cpp_extra_args>",
                "< sd_cpp_extra_args>\\(\"seed\":1\\)< /sd_cpp_extra_args>",
            ),
            ("(cat:1.9) [dog:fox:0.5]", "\\(cat:1.9\\) \\[dog:fox:0.5\\]"),
            ("\\(already\\)", "\\\\\\(already\\\\\\)"),
            ("{a|b} __animal__", "\\(a|b\\) _ _animal_ _"),
            ("____", "_ _ _ _"),
            ("cats AND dogs BREAK", "cats and dogs break"),
            ("BRAND AND_ BREAKING ANDY", "BRAND AND_ BREAKING ANDY"),
            ("track #1\nnext", "track \u{ff03}1\nnext"),
            ("<<lora:a:1>>", "< < lora:a:1>>"),
            (
                "caf\u{e9} \u{1f98a} \u{7d75}",
                "caf\u{e9} \u{1f98a} \u{7d75}",
            ),
        ] {
            assert_eq!(plain(asked), sent, "{asked:?}");
        }
    }

    #[test]
    fn a_prompt_never_becomes_empty() {
        for asked in ["<", "{", "#", "\\", "_", " "] {
            assert!(!plain(asked).is_empty());
        }
    }
}
