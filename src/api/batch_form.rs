//! The formats of a batch, and how to tell a file's format from its text.

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

/// The member of a document that contains the requests.
pub const REQUESTS: &str = "requests";

const ADVICE: &str = r#"give one request per line, or one object {"requests": [...]}"#;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// One JSON object with a list of requests.
    Json,
    /// One request per line (JSON Lines).
    Lines,
    /// JSON Lines made from a table, with the first line of each row in the table.
    Table(Vec<usize>),
}

/// Why a file is neither JSON Lines nor a document with requests.
#[derive(Debug, thiserror::Error)]
pub enum FormFault {
    /// One JSON object over several lines, without requests.
    #[error("is a JSON object without `requests`; {ADVICE}")]
    NoRequests,
    #[error("is a JSON array; {ADVICE}")]
    Array,
    /// A document over several lines with a syntax error.
    #[error("is not well-formed JSON: {0}; {ADVICE}")]
    Syntax(serde_json::Error),
}

/// Detects the format of a file that is not a table.
///
/// # Errors
/// The file is one JSON document, faulty or without requests. Read as JSON Lines, each of its lines would be an error.
pub fn detect(bytes: &[u8]) -> Result<Form, FormFault> {
    let bytes = without_byte_order_mark(bytes);
    let text = bytes.trim_ascii();
    let is_object = text.starts_with(b"{");
    // A batch is parsed once here.
    let has_requests = has_requests(text);
    if is_object && matches!(has_requests, Ok(true)) {
        return Ok(Form::Json);
    }
    match parse(bytes) {
        Ok(_) if text.starts_with(b"[") => Err(FormFault::Array),
        // The parser of the batch reports its duplicates.
        Ok(_) if is_object && has_requests.is_err() => Ok(Form::Json),
        Ok(_) if is_object && spans_lines(text) => Err(FormFault::NoRequests),
        Err(error) if begins_document(text) => Err(FormFault::Syntax(error)),
        Ok(_) | Err(_) => Ok(Form::Lines),
    }
}

/// The text after the mark with which some editors and shells begin UTF-8 text.
pub fn without_byte_order_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// Does the text begin with the byte order mark of UTF-16? Some shells write this encoding into files.
pub fn is_utf_16(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff")
}

/// Is a body that was sent as JSON Lines one document over several lines?
pub fn is_document(bytes: &[u8]) -> bool {
    let text = bytes.trim_ascii();
    match parse(text) {
        Ok(_) => spans_lines(text),
        Err(_) => begins_document(text),
    }
}

/// Is there a member with requests? Keeps none of the members, because a body may have millions.
fn has_requests(object: &[u8]) -> serde_json::Result<bool> {
    #[derive(Default)]
    struct IsPresent(bool);

    impl<'de> Deserialize<'de> for IsPresent {
        fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
            IgnoredAny::deserialize(value).map(|_| Self(true))
        }
    }

    #[derive(Deserialize)]
    struct Members {
        #[serde(default)]
        requests: IsPresent,
    }

    serde_json::from_slice::<Members>(object).map(|it| it.requests.0)
}

fn spans_lines(text: &[u8]) -> bool {
    text.contains(&b'\n')
}

/// Does the first line begin a value that later lines continue? A whole request on the second line shows that only the first request is
/// cut off.
fn begins_document(text: &[u8]) -> bool {
    let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let mut lines = lines.filter(|line| !line.is_empty());
    let (Some(first), Some(second)) = (lines.next(), lines.next()) else {
        return false;
    };
    let is_request = second.starts_with(b"{") && parse(second).is_ok();
    parse(first).is_err_and(|error| error.is_eof()) && !is_request
}

fn parse(text: &[u8]) -> serde_json::Result<IgnoredAny> {
    serde_json::from_slice(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(file: &str) -> String {
        detect(file.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn a_file_is_an_object_or_lines() {
        for (file, form) in [
            ("{\"requests\": [], \"metadata\": {}}", Form::Json),
            ("{\n  \"requests\": [\n    {}\n  ]\n}\n", Form::Json),
            ("{\"prompt\": \"a\"}\n{\"prompt\": \"b\"}\n", Form::Lines),
            ("{\"prompt\": \"a\"}\n", Form::Lines),
            ("{\"requests\": null}", Form::Json),
            ("{\"requests\": [], \"requests\": []}", Form::Json),
            ("5", Form::Lines),
            ("{\"prompt\": \"a\",}\n{\"prompt\": \"b\"}\n", Form::Lines),
            // Only the first line is cut off.
            ("{\"prompt\": \n{\"prompt\": \"b\"}\n", Form::Lines),
            ("{\"prompt\": ", Form::Lines),
            ("prompt: a\nmodel: b\n", Form::Lines),
            ("", Form::Lines),
            ("\u{feff}{\"requests\": []}", Form::Json),
            ("\u{feff}{\"prompt\": \"a\"}\n", Form::Lines),
        ] {
            assert_eq!(detect(file.as_bytes()).unwrap(), form, "{file}");
            assert_eq!(
                is_document(file.as_bytes()),
                file.starts_with("{\n"),
                "{file}"
            );
        }
    }

    #[test]
    fn a_document_that_is_no_batch_has_one_fault() {
        let give = r#"; give one request per line, or one object {"requests": [...]}"#;
        let faulty = "\n{\n  \"requests\": [\n    {\"model\": \"fast\"}\n    {}\n  ]\n}\n";
        for (file, expected) in [
            (
                faulty,
                "is not well-formed JSON: expected `,` or `]` at line 5 column 5",
            ),
            (
                "{\n  \"model\": \"fast\"\n}\n",
                "is a JSON object without `requests`",
            ),
            ("[\n{},\n{}\n]\n", "is a JSON array"),
        ] {
            assert_eq!(fault(file), format!("{expected}{give}"), "{file}");
            assert!(is_document(file.as_bytes()), "{file}");
        }
        assert_eq!(fault("[{}, {}]"), format!("is a JSON array{give}"));
    }
}
