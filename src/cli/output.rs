//! Output of commands: aligned columns, JSON, and untrusted text made safe for a terminal.

use comfy_table::{Table, presets};
use serde_json::Value;
use std::io::{self, Write as _};

/// A table without borders, so that `awk` and `grep` can read it.
pub fn table(headings: &[&str], rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(headings);
    for row in rows {
        table.add_row(row.iter().map(|cell| escape_control_chars(cell)));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.trim_fmt() + "\n"
}

/// Names and values in two columns. Omits fields without a value.
pub fn field_lines(fields: &[(&str, Option<&str>)]) -> String {
    let width = fields.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    fields
        .iter()
        .filter_map(|(name, value)| Some((name, (*value)?)))
        .map(|(name, value)| format!("{name:width$}  {}\n", escape_control_chars(value)))
        .collect()
}

/// Escapes control characters, so that untrusted text cannot control the terminal or reorder the text around it.
pub fn escape_control_chars(text: &str) -> String {
    text.chars()
        .flat_map(|c| {
            let escapes = c.is_control() || is_bidi_control(c);
            let escaped = escapes.then(|| c.escape_default());
            let plain = escaped.is_none().then_some(c);
            escaped.into_iter().flatten().chain(plain)
        })
        .collect()
}

/// [`escape_control_chars`] for a text of several lines.
pub fn escape_lines(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(escape_control_chars).collect();
    lines.join("\n")
}

/// The explicit controls of text direction (Unicode Standard Annex 9, section 2).
fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The first `max` characters, followed by dots if the text is longer.
pub fn truncate(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text.to_owned(),
    }
}

/// Prints to standard output. Ignores a closed pipe, such as that of `head`.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

pub fn print_json(value: &Value) -> anyhow::Result<()> {
    print(&format!("{value:#}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_without_trailing_blanks() {
        let rows = vec![
            vec!["1".into(), "é".into(), "x".into()],
            vec!["22".into(), "long".into(), String::new()],
        ];
        assert_eq!(
            table(&["A", "B", "C"], rows),
            "A   B     C\n1   é     x\n22  long\n"
        );
        assert_eq!(table(&["A"], vec![]), "A\n");
    }

    #[test]
    fn untrusted_text_cannot_control_the_terminal() {
        assert_eq!(
            escape_control_chars("a\u{1b}[2J\r\n\u{9b}é"),
            "a\\u{1b}[2J\\r\\n\\u{9b}é"
        );
        assert_eq!(
            escape_control_chars("exe\u{202e}gnp\u{2066}"),
            "exe\\u{202e}gnp\\u{2066}"
        );
        assert_eq!(escape_lines("a\n  \u{1b}b\r\n"), "a\n  \\u{1b}b\\r\n");
        let shown = table(&["A"], vec![vec!["one\n\u{1b}two".into()]]);
        assert_eq!(shown, "A\none\\n\\u{1b}two\n");
    }

    #[test]
    fn long_text_is_truncated_between_characters() {
        assert_eq!(truncate("äöü", 2), "äö...");
        assert_eq!(truncate("äöü", 3), "äöü");
    }

    #[test]
    fn fields_without_a_value_are_omitted() {
        let lines = [("a", Some("1")), ("long", None), ("b", Some("2"))];
        assert_eq!(field_lines(&lines), "a     1\nb     2\n");
    }
}
