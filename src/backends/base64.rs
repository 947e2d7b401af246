//! Base64 images as servers send them: either alphabet, padded or not, sometimes in lines or as a `data:` URL.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// Decodes an image; `None` for invalid base64 or an empty image. CPU-heavy: call it on the blocking pool.
pub fn image_bytes(text: &str) -> Option<Vec<u8>> {
    let text = match text.strip_prefix("data:") {
        Some(url) => url.split_once(";base64,")?.1,
        None => text,
    };
    let text = text.trim_ascii();
    let engine = if text.bytes().any(|byte| matches!(byte, b'-' | b'_')) {
        &URL_SAFE
    } else {
        &STANDARD
    };
    let decoded = engine.decode(text).or_else(|_| {
        // MIME encoders break the text into lines.
        let is_space = |byte: &u8| byte.is_ascii_whitespace();
        engine.decode(text.bytes().filter(|it| !is_space(it)).collect::<Vec<u8>>())
    });
    decoded.ok().filter(|bytes| !bytes.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_alphabets_with_and_without_padding_are_read() {
        let bytes = Some(vec![0xfb, 0xff, 0xfe, 0x01]);
        for text in [
            "+//+AQ==",
            "+//+AQ",
            "-__-AQ==",
            "-__-AQ",
            "data:image/png;base64,+//+AQ==",
            " +//+AQ==\n",
            "+//+\r\nAQ==\r\n",
            "data:image/png;base64,+//+\nAQ==",
        ] {
            assert_eq!(image_bytes(text), bytes, "{text}");
        }
        for text in ["", "?", "+-", "data:image/png,abc", "A"] {
            assert_eq!(image_bytes(text), None, "{text}");
        }
    }
}
