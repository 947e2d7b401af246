//! Reads a file of requests. The server validates its contents.

use crate::api::batch_form::{self, Form};
use crate::api::batch_table::{self, TableFault};
use crate::cli::http_client::Body;
use crate::cli::problem_text::{ErrorResponse, split_position};
use anyhow::{Context as _, anyhow, bail, ensure};
use bytes::Bytes;
use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

pub struct Requests {
    /// The file in messages.
    name: String,
    media_type: &'static str,
    bytes: Bytes,
    /// The line of each request in the file. Empty if the file is one JSON object.
    lines: Vec<usize>,
}

impl Requests {
    /// Reads the file, or standard input if it is `-`.
    pub fn read(file: &Path, is_csv: bool) -> anyhow::Result<Self> {
        let is_input = file.as_os_str() == "-";
        let (name, bytes) = match is_input {
            true => {
                let mut bytes = Vec::new();
                let read = io::stdin().lock().read_to_end(&mut bytes);
                ("standard input".to_owned(), read.map(|_| bytes))
            }
            false => (file.display().to_string(), fs::read(file)),
        };
        let bytes = bytes.with_context(|| format!("cannot read {name}"))?;
        ensure!(!bytes.trim_ascii().is_empty(), "{name} is empty");
        let extension = file.extension();
        let has_csv_extension = extension.is_some_and(|it| it.eq_ignore_ascii_case("csv"));
        match is_csv || has_csv_extension {
            true => Self::from_csv(name, &bytes),
            false => Self::from_json(name, bytes),
        }
    }

    fn from_csv(name: String, bytes: &[u8]) -> anyhow::Result<Self> {
        let found = batch_table::lines(bytes, usize::MAX).map_err(|faults| {
            let faults: Vec<String> = faults.iter().map(TableFault::to_string).collect();
            anyhow!("cannot read {name} as CSV: {}", faults.join("\n  "))
        })?;
        ensure!(
            !found.line_numbers.is_empty(),
            "{name} has no requests below the field names in its first row"
        );
        Ok(Self {
            name,
            media_type: "application/x-ndjson",
            bytes: found.text.into(),
            lines: found.line_numbers,
        })
    }

    fn from_json(name: String, bytes: Vec<u8>) -> anyhow::Result<Self> {
        ensure!(
            !batch_form::is_utf_16(&bytes),
            "{name} is UTF-16, but must be UTF-8"
        );
        let bytes = Bytes::from(bytes);
        let bytes = bytes.slice_ref(batch_form::without_byte_order_mark(&bytes));
        let form = batch_form::detect(&bytes).map_err(|fault| anyhow!("{name} {fault}"))?;
        let (media_type, lines) = match form {
            Form::Json => ("application/json", Vec::new()),
            _ if std::str::from_utf8(&bytes).is_err() => {
                bail!("{name} is not JSON Lines: it is not UTF-8 text")
            }
            Form::Table(rows) => ("application/x-ndjson", rows),
            Form::Lines => {
                let lines = bytes.split(|byte| *byte == b'\n').zip(1..);
                // The server skips blank lines too.
                let requests = lines.filter(|(line, _)| !line.trim_ascii().is_empty());
                (
                    "application/x-ndjson",
                    requests.map(|(_, number)| number).collect(),
                )
            }
        };
        Ok(Self {
            name,
            media_type,
            bytes,
            lines,
        })
    }

    pub fn body(&self) -> Body {
        Body {
            media_type: self.media_type,
            bytes: self.bytes.clone(),
        }
    }

    /// Replaces the positions of requests in an error response by the lines of the file.
    pub fn locate(&self, error: anyhow::Error) -> anyhow::Error {
        match error.downcast_ref::<ErrorResponse>() {
            Some(response) => {
                let describe = |field: &str, message: &str| self.describe(field, message);
                anyhow!(response.text_with_lines(&describe, &|field| Some(self.find(field)?.0)))
            }
            None => error,
        }
    }

    fn describe(&self, field: &str, message: &str) -> String {
        let message = match message.split_once("requests[") {
            // The custom id of another request.
            Some((before, _)) => match self.find(&message[before.len()..]) {
                Some((line, _)) => format!("{before}line {line}"),
                None => message.to_owned(),
            },
            None => message.to_owned(),
        };
        match self.find(field) {
            Some((line, "")) => format!("{}, line {line} {message}", self.name),
            Some((line, field)) => format!("{}, line {line}: {field} {message}", self.name),
            // Not about the file.
            None if field.eq_ignore_ascii_case("idempotency-key") => message,
            None => format!("{}: {field} {message}", self.name),
        }
    }

    /// The line of a request, and the field in it.
    fn find<'f>(&self, field: &'f str) -> Option<(usize, &'f str)> {
        let (position, rest) = split_position(field)?;
        Some((*self.lines.get(position)?, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(requests: anyhow::Result<Requests>, field: &str, message: &str) -> String {
        requests.unwrap().describe(field, message)
    }

    #[test]
    fn errors_name_the_line_of_the_file() {
        let lines = || Requests::from_json("a.jsonl".into(), b"{}\n\n \n{}\r\n{}".into());
        for (field, message, expected) in [
            (
                "requests[1].model",
                "is required",
                "a.jsonl, line 4: model is required",
            ),
            ("requests[2]", "is empty", "a.jsonl, line 5 is empty"),
            (
                "requests[2].custom_id",
                "is also that of requests[0] (line 1)",
                "a.jsonl, line 5: custom_id is also that of line 1",
            ),
            (
                "requests",
                "has 7 entries",
                "a.jsonl: requests has 7 entries",
            ),
        ] {
            assert_eq!(described(lines(), field, message), expected);
        }
        let table = b"model,prompt\nfast,\"two\nlines\"\npro,x\n";
        let table = Requests::from_csv("a.csv".into(), table);
        assert_eq!(
            described(table, "requests[1].prompt", "is new"),
            "a.csv, line 4: prompt is new"
        );
        let used = "the Idempotency-Key was used before with a different request";
        assert_eq!(described(lines(), "Idempotency-Key", used), used);
        let object = Requests::from_json("a.json".into(), b"{\"requests\": [{}]}".into());
        assert_eq!(
            described(object, "requests[0].model", "is required"),
            "a.json: requests[0].model is required"
        );
    }

    #[test]
    fn a_byte_order_mark_is_not_part_of_the_first_line() {
        let marked = Requests::from_json("a.jsonl".into(), b"\xef\xbb\xbf\n{}\n".into()).unwrap();
        assert_eq!(&*marked.bytes, b"\n{}\n");
        assert_eq!(
            described(Ok(marked), "requests[0].model", "is required"),
            "a.jsonl, line 2: model is required"
        );
        let utf_16 = Requests::from_json("a.jsonl".into(), b"\xff\xfe{\0}\0".into());
        let expected = "a.jsonl is UTF-16, but must be UTF-8";
        assert_eq!(utf_16.err().unwrap().to_string(), expected);
    }

    #[test]
    fn a_file_without_requests_is_refused_in_one_line() {
        let text = |requests: anyhow::Result<Requests>| requests.err().unwrap().to_string();
        let image = Requests::from_json("fox.png".into(), b"\x89PNG\n\xff\n\xfe".into());
        assert_eq!(
            text(image),
            "fox.png is not JSON Lines: it is not UTF-8 text"
        );
        let table = Requests::from_csv("a.csv".into(), b"model,prompt\n");
        assert!(text(table).starts_with("a.csv has no requests"));
        let document = Requests::from_json("a.json".into(), b"{\n  \"requests\": [}\n}\n".into());
        assert_eq!(
            text(document),
            "a.json is not well-formed JSON: expected value at line 2 column 16; give one request per line, or one object {\"requests\": [...]}"
        );
    }
}
