//! A delivery as a text file: header lines, a blank line, the body. `webhook listen --save` writes it, `webhook-verify` reads it.

use tintype_storage::webhook_wire::verification::Headers;

/// A parsed delivery.
#[derive(Debug, PartialEq, Eq)]
pub struct DeliveryFile<'a> {
    /// Names and values, in the order of the file.
    pub headers: Vec<(&'a str, &'a str)>,
    pub body: &'a [u8],
}

/// Why a file is not a delivery.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeliveryFileError {
    /// No blank line ends the headers.
    #[error(
        "there is no blank line between the headers and the body; add one after the last header"
    )]
    NoBlankLine,
    /// The headers are not text.
    #[error("the header lines are not UTF-8 text")]
    NotText,
    /// A header line has no colon.
    #[error("line {0} is not a header: expected a name, a colon and a value")]
    NoHeader(usize),
}

impl<'a> DeliveryFile<'a> {
    /// Parses a delivery. Header lines end with LF or CRLF. Skips a request line before them.
    pub fn parse(text: &'a [u8]) -> Result<Self, DeliveryFileError> {
        let mut headers = Vec::new();
        let mut rest = text;
        for number in 1.. {
            let end = rest.iter().position(|byte| *byte == b'\n');
            let (line, after) = rest.split_at(end.ok_or(DeliveryFileError::NoBlankLine)? + 1);
            rest = after;
            let line = std::str::from_utf8(line).map_err(|_| DeliveryFileError::NotText)?;
            let line = line.trim_end_matches(['\r', '\n']);
            if line.is_empty() {
                break;
            }
            if number == 1 && is_request_line(line) {
                continue;
            }
            let (name, value) = line
                .split_once(':')
                .filter(|(name, _)| !name.trim().is_empty())
                .ok_or(DeliveryFileError::NoHeader(number))?;
            headers.push((name.trim(), value.trim()));
        }
        Ok(Self {
            headers,
            body: rest,
        })
    }

    /// The headers that verification needs.
    pub fn signed_headers(&self) -> Headers<'a> {
        Headers::pick(self.headers.iter().copied())
    }

    pub fn text(&self) -> Vec<u8> {
        let mut text: String = self
            .headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}\n"))
            .collect();
        text.push('\n');
        [text.as_bytes(), self.body].concat()
    }
}

fn is_request_line(line: &str) -> bool {
    line.rsplit_once(' ')
        .is_some_and(|(_, version)| version.starts_with("HTTP/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_delivery_is_read_back() {
        let recorded = DeliveryFile {
            headers: vec![("X-Timestamp", "1"), ("webhook-id", "a:b")],
            body: b"{\"a\":\r\n\r\n\xff}\n",
        };
        let text = recorded.text();
        assert_eq!(DeliveryFile::parse(&text), Ok(recorded));
    }

    #[test]
    fn either_line_ending_and_a_request_line_are_accepted() {
        let text = b"POST /a:b HTTP/1.1\r\nx-signature : s\r\nEmpty:\r\n\r\n{}";
        let recorded = DeliveryFile::parse(text).unwrap();
        assert_eq!(recorded.headers, [("x-signature", "s"), ("Empty", "")]);
        assert_eq!(recorded.body, b"{}");
        assert_eq!(recorded.signed_headers().x_signature, Some("s"));
        assert_eq!(DeliveryFile::parse(b"\n").unwrap().body, b"");
    }

    #[test]
    fn malformed_files_are_errors() {
        for (text, fault) in [
            (b"".as_slice(), DeliveryFileError::NoBlankLine),
            (b"a: b", DeliveryFileError::NoBlankLine),
            (b"a: b\n", DeliveryFileError::NoBlankLine),
            (b"a: b\n{}\n\n", DeliveryFileError::NoHeader(2)),
            (b": b\n\n", DeliveryFileError::NoHeader(1)),
            (b"a: \xff\n\n", DeliveryFileError::NotText),
        ] {
            assert_eq!(DeliveryFile::parse(text), Err(fault));
        }
    }
}
