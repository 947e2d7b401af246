//! Extracts the images from a JSON body while it arrives, so that the remaining text is small enough to parse in memory.
//!
//! The scanner decodes each image piece by piece, and replaces it with its number: see [`ImageFields`]. It drops thought signatures,
//! which can be as large and are not used. It copies everything else unchanged. The scanner follows only strings and brackets; a JSON
//! parser validates the remaining text. If the body is not JSON, the remaining text is not JSON either.
//!
//! Streaming JSON crates do not fit: push parsers (`actson`, `json-event-parser`) buffer each string, and `struson` streams strings
//! but reads from a blocking reader, so each slow caller would hold a thread of the blocking pool, which the object store needs too.

mod url_start;

use super::base64::{Base64Fault, Decoder};
use url_start::{UrlKind, UrlStart};

pub use url_start::SCHEME as DATA_SCHEME;

/// Maximum nesting depth of a body.
pub const MAX_DEPTH: usize = 64;
/// Longest relevant name, with every character escaped.
const MAX_NAME: usize = 6 * "thought_signature".len();

/// Where a body has its images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageFields {
    /// In `data` of each `inlineData`, as base64. The number replaces the string.
    InlineData,
    /// In each `data`, as base64. The number replaces the string.
    Data,
    /// In each `image_url` that is a data URL. [`DATA_SCHEME`] and the number replace the URL.
    DataUrl,
    /// As `DataUrl`, and in each `result`, as base64. [`DATA_SCHEME`] and the number replace the string. Only in arrays that are
    /// members of the body: `metadata` may have such names too.
    DataUrlOrResult,
}

/// A part of an image in the body.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece {
    Begin,
    Bytes(Vec<u8>),
    /// The image is complete, or not valid base64.
    End(Result<(), Base64Fault>),
}

/// Why the scanner rejects a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScanFault {
    /// See [`MAX_DEPTH`].
    #[error("the body is nested too deep; at most {MAX_DEPTH} levels are allowed")]
    TooDeep,
    /// The text besides the images is too large.
    #[error("the body may have at most {0} bytes besides the data of its inline images")]
    TooMuchText(usize),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Name {
    InlineData,
    Data,
    ImageUrl,
    Result,
    Signature,
    Other,
}

enum Level {
    Array,
    Object {
        is_inline: bool,
        name: Name,
        awaits_name: bool,
    },
}

enum State {
    OutsideString,
    /// In a string that is copied.
    Kept {
        name: Option<Vec<u8>>,
        escaped: bool,
    },
    /// In a string that is dropped.
    Skipped {
        escaped: bool,
    },
    UrlStart(Box<UrlStart>),
    Image(Box<Image>),
}

struct Image {
    decoder: Decoder,
    fault: Option<Base64Fault>,
    /// The characters after the backslash of an incomplete escape.
    escape: Option<Vec<u8>>,
}

pub struct Scanner {
    fields: ImageFields,
    levels: Vec<Level>,
    state: State,
    text: Vec<u8>,
    max_text: usize,
    images: usize,
}

impl Scanner {
    /// `max_text` limits the bytes of text besides the images.
    pub fn new(fields: ImageFields, max_text: usize) -> Self {
        Self {
            fields,
            levels: Vec::new(),
            state: State::OutsideString,
            text: Vec::new(),
            max_text,
            images: 0,
        }
    }

    /// Scans the next bytes of the body.
    ///
    /// # Errors
    /// See [`ScanFault`]. The scanner must not be used after an error.
    pub fn push(&mut self, mut bytes: &[u8], out: &mut Vec<Piece>) -> Result<(), ScanFault> {
        // Each iteration consumes at least one byte.
        while let Some(first) = bytes.first() {
            let used = match &mut self.state {
                State::OutsideString => {
                    self.scan_structure(*first, out)?;
                    1
                }
                State::Kept { .. } => self.scan_kept_string(bytes)?,
                State::Skipped { escaped } => {
                    let end = end_of_string(bytes, escaped);
                    if end.is_some() {
                        self.state = State::OutsideString;
                        self.append_text(b"\"")?;
                    }
                    end.unwrap_or(bytes.len())
                }
                State::UrlStart(start) => {
                    if let Some((kind, string_ends)) = start.push(*first) {
                        self.end_url_start(kind, string_ends, out)?;
                    }
                    1
                }
                State::Image(image) => {
                    let (used, ended) = image.push(bytes, out);
                    if ended {
                        self.end_image(out)?;
                    }
                    used
                }
            };
            bytes = &bytes[used..];
        }
        Ok(())
    }

    /// The body without its images.
    pub fn into_text(self) -> Vec<u8> {
        self.text
    }

    fn append_text(&mut self, bytes: &[u8]) -> Result<(), ScanFault> {
        if self.text.len() + bytes.len() > self.max_text {
            return Err(ScanFault::TooMuchText(self.max_text));
        }
        self.text.extend_from_slice(bytes);
        Ok(())
    }

    fn scan_structure(&mut self, byte: u8, out: &mut Vec<Piece>) -> Result<(), ScanFault> {
        match byte {
            b'"' => return self.begin_string(out),
            b'{' => {
                let is_inline = self.member_name() == Some(Name::InlineData);
                self.open(Level::Object {
                    is_inline,
                    name: Name::Other,
                    awaits_name: true,
                })?;
            }
            b'[' => self.open(Level::Array)?,
            b'}' | b']' => drop(self.levels.pop()),
            b',' => {
                if let Some(Level::Object { awaits_name, .. }) = self.levels.last_mut() {
                    *awaits_name = true;
                }
            }
            _ => {}
        }
        self.append_text(&[byte])
    }

    fn open(&mut self, level: Level) -> Result<(), ScanFault> {
        if self.levels.len() == MAX_DEPTH {
            return Err(ScanFault::TooDeep);
        }
        self.levels.push(level);
        Ok(())
    }

    /// The name of the member whose value follows.
    fn member_name(&self) -> Option<Name> {
        match self.levels.last() {
            Some(Level::Object {
                name,
                awaits_name: false,
                ..
            }) => Some(*name),
            _ => None,
        }
    }

    fn may_have_image(&self) -> bool {
        self.fields != ImageFields::DataUrlOrResult
            || matches!(self.levels.get(1), Some(Level::Array))
    }

    fn begin_string(&mut self, out: &mut Vec<Piece>) -> Result<(), ScanFault> {
        let (in_inline_data, awaits_name) = match self.levels.last() {
            Some(Level::Object {
                is_inline,
                awaits_name,
                ..
            }) => (*is_inline, *awaits_name),
            _ => (false, false),
        };
        let name = self.member_name().filter(|_| self.may_have_image());
        match (self.fields, name) {
            (ImageFields::InlineData, Some(Name::Data)) if !in_inline_data => {
                self.state = kept_string(None);
            }
            (ImageFields::InlineData | ImageFields::Data, Some(Name::Data))
            | (ImageFields::DataUrlOrResult, Some(Name::Result)) => {
                self.begin_image(None, out);
                return Ok(());
            }
            (ImageFields::DataUrl | ImageFields::DataUrlOrResult, Some(Name::ImageUrl)) => {
                self.state = State::UrlStart(Box::default());
                return Ok(());
            }
            (_, Some(Name::Signature)) => self.state = State::Skipped { escaped: false },
            _ => self.state = kept_string(awaits_name.then(Vec::new)),
        }
        self.append_text(b"\"")
    }

    fn scan_kept_string(&mut self, bytes: &[u8]) -> Result<usize, ScanFault> {
        let State::Kept { name, escaped } = &mut self.state else {
            return Ok(0);
        };
        let end = end_of_string(bytes, escaped);
        let used = end.unwrap_or(bytes.len());
        if let Some(name) = name {
            let name_bytes = &bytes[..end.map_or(used, |end| end - 1)];
            let room = (MAX_NAME + 1).saturating_sub(name.len());
            name.extend_from_slice(&name_bytes[..name_bytes.len().min(room)]);
        }
        if end.is_some()
            && let State::Kept {
                name: Some(raw), ..
            } = std::mem::replace(&mut self.state, State::OutsideString)
            && let Some(Level::Object {
                name, awaits_name, ..
            }) = self.levels.last_mut()
        {
            *name = parse_name(&raw);
            *awaits_name = false;
        }
        self.append_text(&bytes[..used])?;
        Ok(used)
    }

    fn end_url_start(
        &mut self,
        kind: UrlKind,
        string_ends: bool,
        out: &mut Vec<Piece>,
    ) -> Result<(), ScanFault> {
        match kind {
            UrlKind::Data(fault) => {
                self.begin_image(fault, out);
                match string_ends {
                    true => self.end_image(out),
                    false => Ok(()),
                }
            }
            UrlKind::Other(raw) => {
                self.state = match string_ends {
                    true => State::OutsideString,
                    false => kept_string(None),
                };
                self.append_text(b"\"")?;
                self.append_text(&raw)
            }
        }
    }

    fn begin_image(&mut self, fault: Option<Base64Fault>, out: &mut Vec<Piece>) {
        self.state = State::Image(Box::new(Image {
            decoder: Decoder::default(),
            fault,
            escape: None,
        }));
        out.push(Piece::Begin);
    }

    fn end_image(&mut self, out: &mut Vec<Piece>) -> Result<(), ScanFault> {
        if let State::Image(mut image) = std::mem::replace(&mut self.state, State::OutsideString) {
            let outcome = image.fault.take().map_or_else(
                || image.decoder.finish().map(|last| push_bytes(last, out)),
                Err,
            );
            out.push(Piece::End(outcome));
        }
        let scheme = match self.fields {
            ImageFields::Data | ImageFields::InlineData => "",
            ImageFields::DataUrl | ImageFields::DataUrlOrResult => DATA_SCHEME,
        };
        let number = format!("\"{scheme}{}\"", self.images);
        self.images += 1;
        self.append_text(number.as_bytes())
    }
}

impl Image {
    /// Returns the number of bytes that belong to the string, and whether the string has ended.
    fn push(&mut self, bytes: &[u8], out: &mut Vec<Piece>) -> (usize, bool) {
        if let Some(escape) = &mut self.escape {
            escape.extend(bytes.first());
            if let Some(byte) = unescape(escape) {
                self.escape = None;
                self.decode(&[byte], out);
            }
            return (1, false);
        }
        let special = bytes.iter().position(|byte| matches!(byte, b'"' | b'\\'));
        self.decode(&bytes[..special.unwrap_or(bytes.len())], out);
        match special {
            None => (bytes.len(), false),
            Some(at) if bytes[at] == b'"' => (at + 1, true),
            Some(at) => {
                self.escape = Some(Vec::new());
                (at + 1, false)
            }
        }
    }

    /// Stores an error until the end of the image: whether the request uses the image is known only after parsing.
    fn decode(&mut self, text: &[u8], out: &mut Vec<Piece>) {
        if self.fault.is_some() {
            return;
        }
        match self.decoder.push(text) {
            Ok(bytes) => push_bytes(bytes, out),
            Err(fault) => self.fault = Some(fault),
        }
    }
}

fn kept_string(name: Option<Vec<u8>>) -> State {
    State::Kept {
        name,
        escaped: false,
    }
}

fn push_bytes(bytes: Vec<u8>, out: &mut Vec<Piece>) {
    if bytes.is_empty() {
        return;
    }
    match out.last_mut() {
        // Merges the small pieces that escapes cause.
        Some(Piece::Bytes(before)) => before.extend(bytes),
        _ => out.push(Piece::Bytes(bytes)),
    }
}

/// The character of a complete escape. A character that is not in the base64 alphabet becomes a byte that the decoder rejects.
fn unescape(escape: &[u8]) -> Option<u8> {
    match escape {
        [b'n' | b'r' | b't'] => Some(b'\n'),
        [b'u', digits @ ..] if digits.len() < 4 => None,
        [b'u', b'0', b'0', digits @ ..] => std::str::from_utf8(digits)
            .ok()
            .and_then(|digits| u8::from_str_radix(digits, 16).ok())
            .or(Some(0)),
        [other] => Some(*other),
        _ => Some(0),
    }
}

/// The number of bytes up to and including the closing quote; `None` if the string continues.
fn end_of_string(bytes: &[u8], escaped: &mut bool) -> Option<usize> {
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            _ if *escaped => *escaped = false,
            b'\\' => *escaped = true,
            b'"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

fn parse_name(raw: &[u8]) -> Name {
    if raw.len() > MAX_NAME {
        return Name::Other;
    }
    let quoted = [b"\"", raw, b"\""].concat();
    let name: String = serde_json::from_slice(&quoted).unwrap_or_default();
    match name.as_str() {
        "inlineData" | "inline_data" => Name::InlineData,
        "data" => Name::Data,
        "image_url" => Name::ImageUrl,
        "result" => Name::Result,
        "signature" | "thoughtSignature" | "thought_signature" => Name::Signature,
        _ => Name::Other,
    }
}

#[cfg(test)]
mod tests;
