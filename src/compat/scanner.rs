//! Cuts the pictures out of a JSON body while it arrives, so that what is left is small enough to be read whole.
//!
//! The `data` of each `inlineData` is decoded and handed on piece by piece; in its place the text gets the picture's number.
//! Signatures of thoughts, which can be as large and which nobody here reads, are left out. Everything else passes
//! unchanged, and is judged afterwards by a real JSON parser: this only follows strings and brackets. A body that is no JSON
//! may therefore be cut at odd places, but what is left of it is no JSON either.
//!
//! Crates that read JSON in pieces were looked at and refused: those that are fed (`actson`, `json-event-parser`) gather
//! each string whole, which is the very thing to be avoided; `struson` streams strings, but pulls from a blocking reader,
//! so each slow caller would hold a thread of the pool that the object store's files need too.

use super::base64::{Base64Fault, Decoder};

/// How deep a body may be nested.
pub const MAX_DEPTH: usize = 64;
/// No name that matters is longer, with every character of it escaped.
const MAX_NAME: usize = 6 * "thought_signature".len();

/// What the scanner came upon.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece {
    /// A picture begins.
    Begin,
    /// Bytes of it.
    Bytes(Vec<u8>),
    /// It ended, well or not.
    End(Result<(), Base64Fault>),
}

/// Why a body is not read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScanFault {
    /// See [`MAX_DEPTH`].
    #[error("the body is nested too deep; at most {MAX_DEPTH} levels are allowed")]
    TooDeep,
    /// What is no picture is too large.
    #[error("the body may have at most {0} bytes besides the data of its inline images")]
    TooMuchText(usize),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Name {
    InlineData,
    Data,
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
    Between,
    /// In a string that stays.
    Text {
        name: Option<Vec<u8>>,
        escaped: bool,
    },
    /// In a string that is left out.
    Left {
        escaped: bool,
    },
    Picture(Box<Picture>),
}

struct Picture {
    decoder: Decoder,
    fault: Option<Base64Fault>,
    /// An escape that has begun: what came after the backslash.
    escape: Option<Vec<u8>>,
}

/// Scans one body.
pub struct Scanner {
    levels: Vec<Level>,
    state: State,
    text: Vec<u8>,
    max_text: usize,
    pictures: usize,
}

impl Scanner {
    /// A scanner that keeps at most so many bytes of text.
    pub fn new(max_text: usize) -> Self {
        Self {
            levels: Vec::new(),
            state: State::Between,
            text: Vec::new(),
            max_text,
            pictures: 0,
        }
    }

    /// Scans the next bytes of the body.
    ///
    /// # Errors
    /// See [`ScanFault`]; nothing more may be pushed then.
    pub fn push(&mut self, mut bytes: &[u8], out: &mut Vec<Piece>) -> Result<(), ScanFault> {
        // Each round uses up at least one byte.
        while let Some(first) = bytes.first() {
            let used = match &mut self.state {
                State::Between => {
                    self.between(*first, out)?;
                    1
                }
                State::Text { .. } => self.in_text(bytes)?,
                State::Left { escaped } => {
                    let end = end_of_string(bytes, escaped);
                    if end.is_some() {
                        self.state = State::Between;
                        self.keep(b"\"")?;
                    }
                    end.unwrap_or(bytes.len())
                }
                State::Picture(picture) => {
                    let (used, ended) = picture.push(bytes, out);
                    if ended {
                        self.end_picture(out)?;
                    }
                    used
                }
            };
            bytes = &bytes[used..];
        }
        Ok(())
    }

    /// The body without its pictures.
    pub fn into_text(self) -> Vec<u8> {
        self.text
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), ScanFault> {
        if self.text.len() + bytes.len() > self.max_text {
            return Err(ScanFault::TooMuchText(self.max_text));
        }
        self.text.extend_from_slice(bytes);
        Ok(())
    }

    fn between(&mut self, byte: u8, out: &mut Vec<Piece>) -> Result<(), ScanFault> {
        match byte {
            b'"' => return self.begin_string(out),
            b'{' => {
                let is_inline = self.name() == Some(Name::InlineData);
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
        self.keep(&[byte])
    }

    fn open(&mut self, level: Level) -> Result<(), ScanFault> {
        if self.levels.len() == MAX_DEPTH {
            return Err(ScanFault::TooDeep);
        }
        self.levels.push(level);
        Ok(())
    }

    /// The name of the member whose value comes next.
    fn name(&self) -> Option<Name> {
        match self.levels.last() {
            Some(Level::Object {
                name,
                awaits_name: false,
                ..
            }) => Some(*name),
            _ => None,
        }
    }

    fn begin_string(&mut self, out: &mut Vec<Piece>) -> Result<(), ScanFault> {
        let in_picture = matches!(
            self.levels.last(),
            Some(Level::Object {
                is_inline: true,
                ..
            })
        );
        let awaits_name = matches!(
            self.levels.last(),
            Some(Level::Object {
                awaits_name: true,
                ..
            })
        );
        match self.name() {
            Some(Name::Data) if in_picture => {
                self.state = State::Picture(Box::new(Picture {
                    decoder: Decoder::default(),
                    fault: None,
                    escape: None,
                }));
                out.push(Piece::Begin);
                return Ok(());
            }
            Some(Name::Signature) => self.state = State::Left { escaped: false },
            _ => {
                self.state = State::Text {
                    name: awaits_name.then(Vec::new),
                    escaped: false,
                };
            }
        }
        self.keep(b"\"")
    }

    fn in_text(&mut self, bytes: &[u8]) -> Result<usize, ScanFault> {
        let State::Text { name, escaped } = &mut self.state else {
            return Ok(0);
        };
        let end = end_of_string(bytes, escaped);
        let used = end.unwrap_or(bytes.len());
        if let Some(name) = name {
            let of_name = &bytes[..end.map_or(used, |end| end - 1)];
            let room = (MAX_NAME + 1).saturating_sub(name.len());
            name.extend_from_slice(&of_name[..of_name.len().min(room)]);
        }
        if end.is_some()
            && let State::Text {
                name: Some(raw), ..
            } = std::mem::replace(&mut self.state, State::Between)
            && let Some(Level::Object {
                name, awaits_name, ..
            }) = self.levels.last_mut()
        {
            *name = read_name(&raw);
            *awaits_name = false;
        }
        self.keep(&bytes[..used])?;
        Ok(used)
    }

    fn end_picture(&mut self, out: &mut Vec<Piece>) -> Result<(), ScanFault> {
        if let State::Picture(mut picture) = std::mem::replace(&mut self.state, State::Between) {
            let outcome = picture.fault.take().map_or_else(
                || picture.decoder.finish().map(|last| keep_piece(last, out)),
                Err,
            );
            out.push(Piece::End(outcome));
        }
        let number = format!("\"{}\"", self.pictures);
        self.pictures += 1;
        self.keep(number.as_bytes())
    }
}

impl Picture {
    /// Takes what belongs to the string, and tells how much that was and whether the string has ended.
    fn push(&mut self, bytes: &[u8], out: &mut Vec<Piece>) -> (usize, bool) {
        if let Some(escape) = &mut self.escape {
            escape.extend(bytes.first());
            if let Some(meant) = unescaped(escape) {
                self.escape = None;
                self.decode(&[meant], out);
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

    /// A fault is kept for the end: whether it matters is not known before all of the body has been read.
    fn decode(&mut self, text: &[u8], out: &mut Vec<Piece>) {
        if self.fault.is_some() {
            return;
        }
        match self.decoder.push(text) {
            Ok(bytes) => keep_piece(bytes, out),
            Err(fault) => self.fault = Some(fault),
        }
    }
}

fn keep_piece(bytes: Vec<u8>, out: &mut Vec<Piece>) {
    if bytes.is_empty() {
        return;
    }
    match out.last_mut() {
        // Escapes make pieces of a few bytes, which are put together again.
        Some(Piece::Bytes(before)) => before.extend(bytes),
        _ => out.push(Piece::Bytes(bytes)),
    }
}

/// The character that an escape stands for, once it is complete. What base64 has no use for is a byte that it refuses.
fn unescaped(escape: &[u8]) -> Option<u8> {
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

/// How many bytes there are up to the end of the string, its quote included; `None` when it goes on.
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

fn read_name(raw: &[u8]) -> Name {
    if raw.len() > MAX_NAME {
        return Name::Other;
    }
    let quoted = [b"\"", raw, b"\""].concat();
    let name: String = serde_json::from_slice(&quoted).unwrap_or_default();
    match name.as_str() {
        "inlineData" | "inline_data" => Name::InlineData,
        "data" => Name::Data,
        "thoughtSignature" | "thought_signature" => Name::Signature,
        _ => Name::Other,
    }
}

#[cfg(test)]
mod tests;
