//! Output of commands: aligned columns, JSON, and untrusted text made safe for a terminal.

use comfy_table::{Table, presets};
use serde_json::Value;
use std::io::{self, Write as _};

/// A table without frames, so that `awk` and `grep` can read it.
pub fn table(heads: &[&str], rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(heads);
    for row in rows {
        table.add_row(row.iter().map(|cell| printable(cell)));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.trim_fmt() + "\n"
}

/// Names and values in two columns, without the names that have no value.
pub fn facts(facts: &[(&str, Option<&str>)]) -> String {
    let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    facts
        .iter()
        .filter_map(|(name, value)| Some((name, (*value)?)))
        .map(|(name, value)| format!("{name:width$}  {}\n", printable(value)))
        .collect()
}

/// The text with control characters escaped, so that untrusted text cannot control the terminal.
pub fn printable(text: &str) -> String {
    text.chars()
        .flat_map(|c| {
            let escaped = c.is_control().then(|| c.escape_default());
            let plain = escaped.is_none().then_some(c);
            escaped.into_iter().flatten().chain(plain)
        })
        .collect()
}

/// The first `max` characters, with dots where something was left out.
pub fn shortened(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text.to_owned(),
    }
}

/// Prints to standard output. A closed pipe, as of `head`, is no error.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Prints an answer as indented JSON.
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
            printable("a\u{1b}[2J\r\n\u{9b}é"),
            "a\\u{1b}[2J\\r\\n\\u{9b}é"
        );
        let shown = table(&["A"], vec![vec!["one\n\u{1b}two".into()]]);
        assert_eq!(shown, "A\none\\n\\u{1b}two\n");
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(shortened("äöü", 2), "äö...");
        assert_eq!(shortened("äöü", 3), "äöü");
    }

    #[test]
    fn facts_without_a_value_are_left_out() {
        let lines = [("a", Some("1")), ("long", None), ("b", Some("2"))];
        assert_eq!(facts(&lines), "a     1\nb     2\n");
    }
}
