//! Output of commands: aligned columns, JSON, and untrusted text made safe for a terminal.

use comfy_table::{Table, presets};
use console::Term;
use serde_json::Value;
use std::io::{self, Write as _};

/// A table without borders, so that `awk` and `grep` can read it. On a terminal each row has one line: texts are in the last columns, so
/// that truncation leaves the ids.
pub fn table(headings: &[&str], rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(headings);
    for row in rows {
        table.add_row(row.iter().map(|cell| escape_control_chars(cell)));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    let width = Term::stdout().size_checked().map(|(_, columns)| columns);
    truncate_lines(&table.trim_fmt(), width)
}

/// Truncates each line to `width` columns, and ends it with a line break. `None`: unlimited.
fn truncate_lines(text: &str, width: Option<u16>) -> String {
    let width = width.map_or(usize::MAX, usize::from);
    let lines = text.lines();
    lines
        .flat_map(|line| [console::truncate_str(line, width, "…"), "\n".into()])
        .collect()
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

/// Escapes control characters, so that untrusted text cannot control the terminal.
pub fn escape_control_chars(text: &str) -> String {
    text.chars()
        .flat_map(|c| {
            let escaped = c.is_control().then(|| c.escape_default());
            let plain = escaped.is_none().then_some(c);
            escaped.into_iter().flatten().chain(plain)
        })
        .collect()
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
    fn each_row_has_one_line_of_the_terminal() {
        let text = "A  NAME\n1  a long name\n2  名前名前\n3  short";
        assert_eq!(
            truncate_lines(text, Some(8)),
            "A  NAME\n1  a lo…\n2  名前…\n3  short\n"
        );
        assert_eq!(truncate_lines(text, None), format!("{text}\n"));
    }

    #[test]
    fn untrusted_text_cannot_control_the_terminal() {
        assert_eq!(
            escape_control_chars("a\u{1b}[2J\r\n\u{9b}é"),
            "a\\u{1b}[2J\\r\\n\\u{9b}é"
        );
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
