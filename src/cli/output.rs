//! Output of commands: aligned columns, JSON, and untrusted text made safe for a terminal.

use anyhow::Context as _;
use comfy_table::{Table, presets};
use console::{Term, measure_text_width, truncate_str};
use serde::Serialize;
use serde_json::{Value, json};
use std::io::{self, Write as _};
use std::process::ExitCode;
use tintype_api::Page;

/// Columns that a terminal shows of the last column of a table at least.
const MIN_TEXT_COLUMNS: usize = 10;

/// A table without borders, so that `awk` and `grep` can read it. A terminal gets no more lines than the columns but the last one need:
/// texts are in the last column.
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
    let last_heading = headings.last().map_or(0, |it| it.len());
    truncate_rows(&table.trim_fmt(), last_heading, width)
}

/// Truncates each row at the end of the terminal's line on which its last column begins. `width`: of the terminal; `None` truncates
/// nothing.
fn truncate_rows(table: &str, last_heading: usize, width: Option<u16>) -> String {
    let headings = table.lines().next().unwrap_or_default();
    let needed = measure_text_width(headings) - last_heading + MIN_TEXT_COLUMNS;
    let limit = width.map_or(usize::MAX, |it| {
        needed.next_multiple_of(usize::from(it).max(1))
    });
    let rows = table.lines();
    rows.flat_map(|row| [truncate_str(row, limit, "…"), "\n".into()])
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

/// The faults that a command has found, one on each line.
pub fn fault_lines(faults: &[String]) -> String {
    let line = |fault: &String| format!("FAULT {}\n", escape_control_chars(fault));
    faults.iter().map(line).collect()
}

/// Prints to standard output. Ignores a closed pipe, such as that of `head`.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error).context(
            "the command was executed, but its output could not be written to standard output",
        ),
        _ => Ok(()),
    }
}

pub fn print_json(value: &Value) -> anyhow::Result<()> {
    print(&format!("{value:#}\n"))
}

/// Prints a value as JSON, or as text.
pub fn print_as(
    is_json: bool,
    value: &impl Serialize,
    text: impl FnOnce() -> String,
) -> anyhow::Result<()> {
    match is_json {
        true => print_json(&json!(value)),
        false => print(&text()),
    }
}

/// The heading of a column, and its value in a row.
pub type Column<T> = (&'static str, fn(&T) -> String);

pub fn list_table<T>(columns: &[Column<T>], entries: &[T]) -> String {
    let headings: Vec<&str> = columns.iter().map(|(heading, _)| *heading).collect();
    let row = |it| columns.iter().map(|(_, value)| value(it)).collect();
    table(&headings, entries.iter().map(row).collect())
}

/// Prints a page of a list as a table. The cursor of the next page goes to standard error, so that it is not mistaken for a row.
pub fn print_page<T>(columns: &[Column<T>], page: &Page<T>) -> anyhow::Result<()> {
    print(&list_table(columns, &page.data))?;
    if let Some(next) = &page.next_cursor {
        note(&format!(
            "more results may follow; get them with --cursor {next}"
        ));
    }
    Ok(())
}

/// Prints to standard error. The command continues even if standard error is closed: its exit code is the report.
pub fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Code 0, or 1 if the command has found a fault.
pub fn exit_code(is_success: bool) -> ExitCode {
    match is_success {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
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
    fn rows_are_truncated_at_the_end_of_a_line_of_the_terminal() {
        let table = "ID  NAME\n1   a very long name\n2   名前名前名前名前\n3   short";
        assert_eq!(
            truncate_rows(table, 4, Some(15)),
            "ID  NAME\n1   a very lon…\n2   名前名前名…\n3   short\n"
        );
        // The last column would begin at the end of the first line.
        assert_eq!(
            truncate_rows(table, 4, Some(9)).lines().nth(1),
            Some("1   a very long n…")
        );
        assert_eq!(truncate_rows(table, 4, None), format!("{table}\n"));
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
