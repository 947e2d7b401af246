//! Reads a table as spreadsheets write it (RFC 4180): cells between commas, in double quotes where they hold a comma, a quote or
//! the end of a line.

use anyhow::bail;

/// A row with the line on which it begins, counted from 1.
pub type Row = (usize, Vec<String>);

/// The rows of a table, the first one included. Empty lines are no rows.
///
/// # Errors
/// A quote that is not closed, or stands in a cell without quotes.
pub fn rows(text: &str) -> anyhow::Result<Vec<Row>> {
    let (mut rows, mut cells) = (Vec::new(), Vec::new());
    let (mut line, mut began) = (1, 1);
    // Excel begins a file in UTF-8 with this mark.
    let mut rest = text.trim_start_matches('\u{feff}');
    loop {
        let (cell, after) = match rest.strip_prefix('"') {
            Some(quoted) => unquoted(quoted, line)?,
            None => {
                let end = rest.find([',', '\n']).unwrap_or(rest.len());
                let (cell, after) = rest.split_at(end);
                if cell.contains('"') {
                    bail!(
                        "line {line}: put a cell with a quote in it into quotes, and write the quote twice"
                    );
                }
                (cell.trim_end_matches('\r').to_owned(), after)
            }
        };
        line += cell.matches('\n').count();
        cells.push(cell);
        let after = after.strip_prefix('\r').unwrap_or(after);
        if let Some(next) = after.strip_prefix(',') {
            rest = next;
            continue;
        }
        let is_blank = matches!(cells.as_slice(), [only] if only.is_empty());
        let row = std::mem::take(&mut cells);
        if !is_blank {
            rows.push((began, row));
        }
        match after.strip_prefix('\n') {
            Some(next) => rest = next,
            None if after.is_empty() => return Ok(rows),
            None => bail!("line {line}: after the closing quote of a cell there must be a comma"),
        }
        line += 1;
        began = line;
    }
}

/// The text of a cell up to its closing quote, and what comes after.
fn unquoted(mut rest: &str, line: usize) -> anyhow::Result<(String, &str)> {
    let mut cell = String::new();
    loop {
        let Some((part, after)) = rest.split_once('"') else {
            bail!("line {line}: a cell begins with a quote that is not closed");
        };
        cell.push_str(part);
        match after.strip_prefix('"') {
            Some(more) => {
                cell.push('"');
                rest = more;
            }
            None => return Ok((cell, after)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_as_rfc_4180_writes_them() {
        let read = |text: &str| -> Vec<Vec<String>> {
            rows(text)
                .unwrap()
                .into_iter()
                .map(|(_, row)| row)
                .collect()
        };
        assert_eq!(read("a,b\r\n1,2\r\n"), [["a", "b"], ["1", "2"]]);
        assert_eq!(read("\u{feff}a,b\n1,2"), [["a", "b"], ["1", "2"]]);
        assert_eq!(read("a,\n,\"\"\n"), [["a", ""], ["", ""]]);
        assert_eq!(read("\"x, \"\"y\"\"\r\nz\",é\n"), [["x, \"y\"\r\nz", "é"]]);
        assert_eq!(read("a\n\n\nb\n"), [["a"], ["b"]]);
        assert_eq!(read(""), Vec::<Vec<String>>::new());
    }

    #[test]
    fn rows_know_the_line_on_which_they_begin() {
        let lines: Vec<usize> = rows("a\n\"b\nc\"\n\nd\n")
            .unwrap()
            .iter()
            .map(|it| it.0)
            .collect();
        assert_eq!(lines, [1, 2, 5]);
    }

    #[test]
    fn faulty_quotes_are_refused_with_the_line() {
        for (text, wanted) in [
            ("a\n\"b", "line 2: a cell begins with a quote"),
            ("a\nb\"c\n", "line 2: put a cell with a quote"),
            ("\"a\"b\n", "line 1: after the closing quote"),
        ] {
            let error = rows(text).unwrap_err().to_string();
            assert!(error.starts_with(wanted), "{error}");
        }
    }
}
