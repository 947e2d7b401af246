//! Converts a CSV table of requests to JSON Lines.

mod csv;

use super::{batch, batch_form};
use csv::Rows;
use serde::Serialize;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, HashSet};
use tintype_api::fault_list::FaultList;
use tintype_api::fields::{nearest, shown};
use tintype_storage::json;

/// A field whose cell contains a list, separated by whitespace.
const LIST: &str = "input_images_urls";
/// Entries of a list to read. The service's own limit is far lower.
const MAX_LISTED: usize = 100;
const METADATA: &str = "metadata";
const CALLBACK: &str = "callback_url";
/// Prefix of columns that are members of the request's metadata.
const MEMBER: &str = "metadata.";

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", .line.map_or_else(String::new, |it| format!("line {it}: ")))]
pub struct TableFault {
    /// Counted from 1; `None` for the table as a whole.
    pub line: Option<usize>,
    pub message: String,
}

impl TableFault {
    fn on(line: usize, message: impl Into<String>) -> Self {
        Self {
            line: Some(line),
            message: message.into(),
        }
    }

    fn whole(message: impl Into<String>) -> Self {
        Self {
            line: None,
            message: message.into(),
        }
    }
}

/// The requests of a table as lines of JSON.
#[derive(Debug, Default)]
pub struct Lines {
    pub text: String,
    /// The first line of each request in the table.
    pub line_numbers: Vec<usize>,
}

/// Converts each row to a request. An empty cell omits its field. `max_bytes` bounds the output, which repeats the column names in each
/// line and so may be far longer than the table.
///
/// # Errors
/// The first 100 faults; the last one counts the others
pub fn lines(bytes: &[u8], max_bytes: usize) -> Result<Lines, Vec<TableFault>> {
    let text = text_of(bytes).map_err(|fault| vec![fault])?;
    let mut rows = Rows::new(text);
    let (line, header) = match rows.next() {
        Some(Ok(header)) => header,
        Some(Err(fault)) => return Err(vec![fault]),
        None => return Err(vec![TableFault::whole("the table is empty")]),
    };
    let header: Vec<&str> = header.iter().map(|it| it.trim()).collect();
    if header.contains(&"") {
        let message = "the first row contains an empty field name";
        return Err(vec![TableFault::on(line, message)]);
    }
    let mut known = HashSet::new();
    if let Some(twice) = header.iter().find(|it| !known.insert(**it)) {
        let message = format!("the first row names the field `{twice}` twice");
        return Err(vec![TableFault::on(line, message)]);
    }
    // Reported here, because the service would report an unknown field for each row that has a value of it.
    let unknown = header
        .iter()
        .filter_map(|name| Some(TableFault::on(line, unknown_column(name)?)));
    let mut faults = FaultList::default();
    faults.extend(unknown);
    faults.finish(unlisted)?;
    let (mut lines, mut faults) = (Lines::default(), FaultList::default());
    for row in rows {
        let converted = row.and_then(|(line, row)| {
            let request = request(&header, &row);
            Ok((
                line,
                request.map_err(|message| TableFault::on(line, message))?,
            ))
        });
        match converted {
            Ok(_) if faults.found() > 0 => {}
            Ok((_, request)) if lines.text.len() + request.len() >= max_bytes => {
                let message =
                    format!("the requests of the table have more than {max_bytes} bytes as JSON");
                return Err(vec![TableFault::whole(message)]);
            }
            Ok((line, request)) => {
                lines.text.push_str(&request);
                lines.text.push('\n');
                lines.line_numbers.push(line);
            }
            Err(fault) => faults.add_with(|| fault),
        }
    }
    faults.finish(unlisted).map(|()| lines)
}

fn unlisted(text: String) -> TableFault {
    TableFault::whole(format!("the table {text}"))
}

/// # Errors
/// Spreadsheets write UTF-16 or the code page of the system, unless the user asks for UTF-8.
fn text_of(bytes: &[u8]) -> Result<&str, TableFault> {
    let advice = "in a spreadsheet, save the file as CSV UTF-8";
    if batch_form::is_utf_16(bytes) {
        let message = format!("the file is UTF-16, but must be UTF-8; {advice}");
        return Err(TableFault::on(1, message));
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let (valid, _) = bytes.split_at(error.valid_up_to());
        let line = 1 + valid.iter().filter(|byte| **byte == b'\n').count();
        TableFault::on(line, format!("the text is not UTF-8; {advice}"))
    })
}

/// What is wrong with the name of a column, if it is no field of a request and no member of the metadata.
fn unknown_column(name: &str) -> Option<String> {
    let known = batch::fields_of_request();
    // The service explains why a request has no such field.
    if known.contains(&name) || name.starts_with(MEMBER) || name == CALLBACK {
        return None;
    }
    let shown = shown(name);
    Some(match nearest(name, known.iter().copied()) {
        Some(meant) => format!("the column `{shown}` is unknown; did you mean `{meant}`?"),
        None => format!(
            "the column `{shown}` is unknown; the columns are {}, and {MEMBER}NAME",
            known.join(", ")
        ),
    })
}

/// A value of a request. Borrows, so that it takes no more memory than the text.
#[derive(Serialize)]
#[serde(untagged)]
enum Cell<'a> {
    Text(&'a str),
    List(Vec<&'a str>),
    Json(&'a RawValue),
    Members(BTreeMap<&'a str, &'a str>),
}

fn request(header: &[&str], row: &[String]) -> Result<String, String> {
    if header.len() != row.len() {
        let (cells, names) = (row.len(), header.len());
        return Err(format!("has {cells} cells, and the first row {names}"));
    }
    let mut request = BTreeMap::new();
    let mut members = BTreeMap::new();
    for (name, cell) in header.iter().copied().zip(row) {
        if cell.is_empty() {
            continue;
        }
        if let Some(member) = name.strip_prefix(MEMBER) {
            members.insert(member, cell.as_str());
            continue;
        }
        let value = match name {
            LIST => Cell::List(cell.split_whitespace().take(MAX_LISTED).collect()),
            METADATA => {
                let value = serde_json::from_str(cell);
                Cell::Json(value.map_err(|error| format!("{METADATA} is not JSON ({error})"))?)
            }
            _ => Cell::Text(cell),
        };
        request.insert(name, value);
    }
    if !members.is_empty() {
        let before = request.insert(METADATA, Cell::Members(members));
        if before.is_some() {
            return Err(format!(
                "has both {METADATA} and {MEMBER}...; use one of them"
            ));
        }
    }
    // A line break can only be between the tokens of the metadata: it is escaped elsewhere.
    Ok(json::to_text(&request).replace(['\n', '\r'], " "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use tintype_api::fault_list::MAX_FAULTS;

    const MAX_BYTES: usize = 1 << 20;

    fn requests(csv: &str) -> Result<Vec<Value>, Vec<String>> {
        let lines = lines(csv.as_bytes(), MAX_BYTES);
        let lines =
            lines.map_err(|faults| faults.iter().map(TableFault::to_string).collect::<Vec<_>>())?;
        let requests = lines.text.lines();
        Ok(requests
            .map(|line| serde_json::from_str(line).unwrap())
            .collect())
    }

    #[test]
    fn each_row_of_a_table_is_a_request() {
        let table = "custom_id, model ,prompt,aspect_ratio,input_images_urls,metadata.sku\n\
            a,fast,\"a fox, \"\"red\"\"\nin snow\",1:1,,7\n\
            ,pro,an owl,1:1,http://a/1 http://a/2,\n";
        let expected = [
            json!({
                "custom_id": "a", "model": "fast", "prompt": "a fox, \"red\"\nin snow", "aspect_ratio": "1:1",
                "metadata": {"sku": "7"},
            }),
            json!({
                "model": "pro", "prompt": "an owl", "aspect_ratio": "1:1",
                "input_images_urls": ["http://a/1", "http://a/2"],
            }),
        ];
        assert_eq!(requests(table).unwrap(), expected);
        assert_eq!(
            lines(table.as_bytes(), MAX_BYTES).unwrap().line_numbers,
            [2, 4]
        );
    }

    #[test]
    fn json_of_several_lines_becomes_one_line() {
        let cell = "\"{\r\n  \"\"sku\"\": 7,\n  \"\"a\"\": \"\"b\\nc\"\"\n}\"";
        let table = format!("model,metadata\nfast,{cell}\npro,{{}}\n");
        let expected = [
            json!({"model": "fast", "metadata": {"sku": 7, "a": "b\nc"}}),
            json!({"model": "pro", "metadata": {}}),
        ];
        assert_eq!(requests(&table).unwrap(), expected);
        let lines = lines(table.as_bytes(), MAX_BYTES).unwrap();
        assert_eq!(lines.line_numbers, [2, 6]);
    }

    #[test]
    fn all_faulty_rows_are_reported_with_their_lines() {
        let faults = requests("prompt,metadata\nx,{\n\n3\ny,{}\n").unwrap_err();
        assert_eq!(faults.len(), 2, "{faults:?}");
        assert!(
            faults[0].starts_with("line 2: metadata is not JSON"),
            "{faults:?}"
        );
        assert_eq!(faults[1], "line 4: has 1 cells, and the first row 2");
        for (table, fault) in [
            (
                "model,\n1,2\n",
                "line 1: the first row contains an empty field name",
            ),
            (
                "model, model\n1,2\n",
                "line 1: the first row names the field `model` twice",
            ),
        ] {
            assert_eq!(requests(table).unwrap_err(), [fault]);
        }
        assert_eq!(requests("\n").unwrap_err(), ["the table is empty"]);
        let many = format!("model,prompt\n{}", "1\n".repeat(MAX_FAULTS * 2));
        let faults = requests(&many).unwrap_err();
        assert_eq!(faults.len(), MAX_FAULTS + 1);
        assert_eq!(
            faults.last().map(String::as_str),
            Some("the table has 100 more errors that are not listed")
        );
        let names: Vec<String> = (0..=MAX_FAULTS).map(|it| format!("x{it}")).collect();
        let faults = requests(&names.join(",")).unwrap_err();
        assert_eq!(
            faults.last().map(String::as_str),
            Some("the table has 1 more error that is not listed")
        );
    }

    #[test]
    fn an_unknown_column_is_reported_once_on_the_first_line() {
        let faults = requests("modl;prompt;notes\nfast;x;\nfast;y;z\n").unwrap_err();
        assert_eq!(
            faults,
            [
                "line 1: the column `modl` is unknown; did you mean `model`?",
                "line 1: the column `notes` is unknown; the columns are custom_id, model, prompt, aspect_ratio, resolution, \
                 input_images_urls, metadata, and metadata.NAME",
            ]
        );
    }

    #[test]
    fn another_encoding_is_reported_with_its_line_and_a_remedy() {
        let fault = |bytes: &[u8]| lines(bytes, MAX_BYTES).unwrap_err()[0].to_string();
        let latin = fault(b"model,prompt\nfast,a fox\nfast,ein B\xe4r\n");
        assert!(
            latin.starts_with("line 3: the text is not UTF-8; "),
            "{latin}"
        );
        let wide = fault(b"\xff\xfem\0o\0");
        assert!(wide.starts_with("line 1: the file is UTF-16"), "{wide}");
        for message in [latin, wide] {
            assert!(message.contains("CSV UTF-8"), "{message}");
        }
    }

    #[test]
    fn the_json_of_a_table_is_bounded() {
        let name = "a".repeat(1_000);
        let table = format!("metadata.{name}\n{}", "1\n".repeat(2_000));
        let faults = lines(table.as_bytes(), 10_000).unwrap_err();
        assert!(
            faults[0].message.contains("more than 10000 bytes"),
            "{faults:?}"
        );
    }
}
