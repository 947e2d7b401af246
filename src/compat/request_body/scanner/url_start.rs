//! The beginning of a string that may be a data URL with an image, such as `data:image/png;base64,iVBO...`.

use super::unescape;
use crate::compat::request_body::base64::Base64Fault;

/// Before each image of a data URL. No other URL in the remaining text begins with it.
pub const SCHEME: &str = "data:";
const ENCODING: &[u8] = b";base64,";
/// Maximum characters before the data.
const MAX_CHARS: usize = 256;

#[derive(Default)]
pub struct UrlStart {
    /// As it stands in the body.
    raw: Vec<u8>,
    /// Without escapes.
    text: Vec<u8>,
    /// The characters after the backslash of an incomplete escape.
    escape: Option<Vec<u8>>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum UrlKind {
    /// The string is another URL, and begins with these bytes of the body.
    Other(Vec<u8>),
    /// The data follows, unless the URL is faulty.
    Data(Option<Base64Fault>),
}

impl UrlStart {
    /// Reads the next byte. Returns the kind of the URL as soon as it is known, and whether the string ends with this byte.
    pub fn push(&mut self, byte: u8) -> Option<(UrlKind, bool)> {
        self.raw.push(byte);
        let ends = self.escape.is_none() && byte == b'"';
        match &mut self.escape {
            Some(escape) => {
                escape.push(byte);
                self.text.push(unescape(escape)?);
                self.escape = None;
            }
            None if byte == b'\\' => {
                self.escape = Some(Vec::new());
                return None;
            }
            None if !ends => self.text.push(byte),
            None => {}
        }
        let known = self.text.len().min(SCHEME.len());
        let may_be_data = self.text[..known].eq_ignore_ascii_case(&SCHEME.as_bytes()[..known]);
        if !may_be_data || (ends && known < SCHEME.len()) {
            return Some((UrlKind::Other(std::mem::take(&mut self.raw)), ends));
        }
        let has_data = self.text.ends_with(b",");
        if !ends && !has_data && self.text.len() < MAX_CHARS {
            return None;
        }
        let at = self.text.len().saturating_sub(ENCODING.len());
        // An invalid escape is not graphic.
        let is_base64 = self.text[at..].eq_ignore_ascii_case(ENCODING)
            && self.text.iter().all(u8::is_ascii_graphic);
        let fault = (!is_base64).then_some(Base64Fault::DataUrl);
        Some((UrlKind::Data(fault), ends))
    }
}
