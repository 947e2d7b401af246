//! Decodes base64 while it arrives: both alphabets, with or without padding and line breaks.
//!
//! The base64 crate decodes whole groups of one alphabet. This module normalizes the text for it, in constant memory.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// The padding is already removed. Ignores the unused bits of the last character.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// A sentence without its subject, which is the name of the field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Base64Fault {
    /// A character of neither alphabet.
    #[error("is not base64: found {shown} after {after} characters", shown = show_byte(*.byte))]
    Foreign {
        byte: u8,
        /// Number of characters before it.
        after: u64,
    },
    #[error("is not base64: remove the prefix `data:...;base64,`")]
    DataUri,
    /// For a value that must be a data URL.
    #[error("must be `data:image/png;base64,` or the like, followed by the image in base64")]
    DataUrl,
    /// Data follows the padding, or its length is wrong.
    #[error("is not base64: its padding is wrong")]
    Padding,
    /// The last group has one character.
    #[error("is not base64: it is truncated")]
    CutOff,
}

fn show_byte(byte: u8) -> String {
    if byte.is_ascii_graphic() {
        format!("`{}`", char::from(byte))
    } else {
        format!("a byte 0x{byte:02x}")
    }
}

#[derive(Default)]
pub struct Decoder {
    /// Characters of an incomplete group, in the standard alphabet.
    pending: Vec<u8>,
    characters: u64,
    padding: u64,
}

impl Decoder {
    /// Decodes the next part of the text.
    ///
    /// # Errors
    /// The text is not base64.
    pub fn push(&mut self, text: &[u8]) -> Result<Vec<u8>, Base64Fault> {
        self.pending.reserve(text.len());
        for byte in text {
            let standard = match *byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' => *byte,
                b'-' => b'+',
                b'_' => b'/',
                b'=' => {
                    self.padding += 1;
                    continue;
                }
                b'\n' | b'\r' | b' ' | b'\t' => continue,
                b':' if self.characters == 4 => return Err(Base64Fault::DataUri),
                byte => {
                    let after = self.characters + self.padding;
                    return Err(Base64Fault::Foreign { byte, after });
                }
            };
            if self.padding > 0 {
                return Err(Base64Fault::Padding);
            }
            self.characters += 1;
            self.pending.push(standard);
        }
        let whole = self.pending.len() - self.pending.len() % 4;
        let rest = self.pending.split_off(whole);
        decode(&std::mem::replace(&mut self.pending, rest))
    }

    /// Decodes the last group.
    ///
    /// # Errors
    /// The text is truncated, or its padding is wrong.
    pub fn finish(&mut self) -> Result<Vec<u8>, Base64Fault> {
        if self.pending.len() == 1 {
            return Err(Base64Fault::CutOff);
        }
        if self.padding > 2
            || (self.padding > 0 && !(self.characters + self.padding).is_multiple_of(4))
        {
            return Err(Base64Fault::Padding);
        }
        decode(&std::mem::take(&mut self.pending))
    }
}

fn decode(text: &[u8]) -> Result<Vec<u8>, Base64Fault> {
    // The text has only characters of the alphabet, and no group of one character.
    LENIENT.decode(text).map_err(|_| Base64Fault::CutOff)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::engine::general_purpose::{
        STANDARD as PADDED, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD,
    };

    fn in_pieces(text: &str, piece: usize) -> Result<Vec<u8>, Base64Fault> {
        let mut decoder = Decoder::default();
        let mut bytes = Vec::new();
        for piece in text.as_bytes().chunks(piece) {
            bytes.extend(decoder.push(piece)?);
        }
        bytes.extend(decoder.finish()?);
        Ok(bytes)
    }

    #[test]
    fn both_alphabets_decode_in_pieces_of_any_size_with_and_without_padding() {
        for length in 0..70 {
            let bytes: Vec<u8> = (0..length).map(|at| (at * 37 + 251) as u8).collect();
            for engine in [PADDED, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD] {
                let text = engine.encode(&bytes);
                for piece in [1, 2, 3, 4, 5, 64, 1_000] {
                    assert_eq!(in_pieces(&text, piece), Ok(bytes.clone()), "{text}");
                }
            }
        }
    }

    #[test]
    fn line_breaks_are_ignored() {
        assert_eq!(in_pieces("AA\r\nEC\n AA==\n", 3), Ok(vec![0, 1, 2, 0]));
    }

    #[test]
    fn each_error_is_distinguished() {
        let foreign = |byte, after| Err(Base64Fault::Foreign { byte, after });
        for (text, outcome) in [
            ("AAEC.A", foreign(b'.', 4)),
            ("AA\u{e9}", foreign(0xc3, 2)),
            ("data:image/png;base64,AAEC", Err(Base64Fault::DataUri)),
            ("A", Err(Base64Fault::CutOff)),
            ("AAECA", Err(Base64Fault::CutOff)),
            ("AA=A", Err(Base64Fault::Padding)),
            ("AA=", Err(Base64Fault::Padding)),
            ("AA===", Err(Base64Fault::Padding)),
            ("AAAA====", Err(Base64Fault::Padding)),
        ] {
            assert_eq!(in_pieces(text, 2), outcome, "{text}");
        }
    }
}
