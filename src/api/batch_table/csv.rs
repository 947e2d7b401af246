//! Parses CSV (RFC 4180): cells between commas, in double quotes if they contain a comma, a quote or a line break. Where the comma
//! is the decimal separator, spreadsheets write semicolons instead, so the first row decides on the delimiter.

use super::TableFault;

/// Limit of cells per row: a row of empty cells takes far more memory than its text.
const MAX_CELLS: usize = 1_000;

/// A row with its first line, counted from 1.
pub type Row = (usize, Vec<String>);

/// Iterates over the rows of a table, the header included. Skips empty lines. Ends after a fault.
pub struct Rows<'a> {
    rest: Option<&'a str>,
    line: usize,
    delimiter: char,
}

/// The delimiter of a table: the first of comma, semicolon and tab that its first line contains outside of quotes.
fn delimiter(text: &str) -> char {
    let header = text.trim_start().lines().next().unwrap_or_default();
    // Every second part is in quotes.
    let bare = || header.split('"').step_by(2);
    let is_used = |it: &char| bare().any(|part| part.contains(*it));
    [',', ';', '\t'].into_iter().find(is_used).unwrap_or(',')
}

impl<'a> Rows<'a> {
    pub fn new(text: &'a str) -> Self {
        // Excel writes a byte order mark.
        let text = text.trim_start_matches('\u{feff}');
        Self {
            rest: Some(text),
            line: 1,
            delimiter: delimiter(text),
        }
    }

    /// Parses the next row, which may be empty.
    fn row(&mut self, mut rest: &'a str) -> Result<Vec<String>, TableFault> {
        let mut cells = Vec::new();
        loop {
            let (cell, after) = match rest.strip_prefix('"') {
                Some(quoted) => self.unquote(quoted)?,
                None => self.bare(rest)?,
            };
            self.line += cell.matches('\n').count();
            cells.push(cell);
            if cells.len() > MAX_CELLS {
                return Err(self.fault(format!("has more than {MAX_CELLS} cells")));
            }
            let after = after.strip_prefix('\r').unwrap_or(after);
            if let Some(next) = after.strip_prefix(self.delimiter) {
                rest = next;
                continue;
            }
            self.rest = match after.strip_prefix('\n') {
                Some(next) => Some(next),
                None if after.is_empty() => None,
                None => {
                    let delimiter = match self.delimiter {
                        ';' => "semicolon",
                        '\t' => "tab",
                        _ => "comma",
                    };
                    return Err(self.fault(format!(
                        "after the closing quote of a cell there must be a {delimiter}"
                    )));
                }
            };
            self.line += 1;
            return Ok(cells);
        }
    }

    /// Returns a cell without quotes and the rest.
    fn bare(&self, rest: &'a str) -> Result<(String, &'a str), TableFault> {
        let end = rest.find([self.delimiter, '\n']).unwrap_or(rest.len());
        let (cell, after) = rest.split_at(end);
        match cell.contains('"') {
            true => Err(self.fault(
                "enclose a cell that contains a quote in quotes, and double the inner quote",
            )),
            false => Ok((cell.trim_end_matches('\r').to_owned(), after)),
        }
    }

    /// Returns the text of a quoted cell and the rest after its closing quote.
    fn unquote(&self, mut rest: &'a str) -> Result<(String, &'a str), TableFault> {
        let mut cell = String::new();
        loop {
            let Some((part, after)) = rest.split_once('"') else {
                return Err(self.fault("a cell begins with a quote that is never closed"));
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

    fn fault(&self, message: impl Into<String>) -> TableFault {
        TableFault::on(self.line, message)
    }
}

impl Iterator for Rows<'_> {
    type Item = Result<Row, TableFault>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (rest, line) = (self.rest.take()?, self.line);
            match self.row(rest) {
                Ok(cells) if matches!(cells.as_slice(), [only] if only.is_empty()) => {}
                row => return Some(row.map(|cells| (line, cells))),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Result<Vec<Row>, String> {
        let rows = Rows::new(text).collect::<Result<_, _>>();
        rows.map_err(|fault: TableFault| fault.to_string())
    }

    #[test]
    fn rows_follow_rfc_4180() {
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
    fn the_first_row_decides_on_the_delimiter() {
        let read = |text: &str| -> Vec<Vec<String>> {
            let rows = rows(text).unwrap().into_iter();
            rows.map(|(_, row)| row).collect()
        };
        assert_eq!(
            read("\u{feff}a;b\r\n1,5;\"x;y\"\r\n"),
            [["a", "b"], ["1,5", "x;y"]]
        );
        assert_eq!(read("a\tb\n1;2\t3,4\n"), [["a", "b"], ["1;2", "3,4"]]);
        assert_eq!(read("a,b\n1;2,3\n"), [["a", "b"], ["1;2", "3"]]);
        assert_eq!(read("\"a;c\",b\n1,2\n"), [["a;c", "b"], ["1", "2"]]);
        assert_eq!(read("\"a,c\";b\n1;2\n"), [["a,c", "b"], ["1", "2"]]);
        assert_eq!(read("a\n1;2\n"), [["a"], ["1;2"]]);
        let error = rows("a;b\n\"x\"y;z\n").unwrap_err();
        assert!(error.ends_with("there must be a semicolon"), "{error}");
    }

    #[test]
    fn rows_carry_their_first_line() {
        let lines: Vec<usize> = rows("a\n\"b\nc\"\n\nd\n")
            .unwrap()
            .iter()
            .map(|it| it.0)
            .collect();
        assert_eq!(lines, [1, 2, 5]);
    }

    #[test]
    fn faulty_rows_are_refused_with_their_line() {
        let wide = ",".repeat(MAX_CELLS);
        for (text, wanted) in [
            ("a\n\"b", "line 2: a cell begins with a quote"),
            ("a\nb\"c\n", "line 2: enclose a cell that contains a quote"),
            ("\"a\"b\n", "line 1: after the closing quote"),
            (&format!("a\n{wide}\n"), "line 2: has more than 1000 cells"),
        ] {
            let error = rows(text).unwrap_err();
            assert!(error.starts_with(wanted), "{error}");
        }
    }
}
