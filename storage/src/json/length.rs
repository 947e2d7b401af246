//! The length of a JSON text without blanks, computed before a tree is built.

use serde_json::value::RawValue;

/// The length of [`Json::to_compact`](super::Json::to_compact) for a text with checked syntax. Allocates no memory.
pub fn compact_length(raw: &RawValue) -> usize {
    let mut rest = raw.get().as_bytes();
    let mut length = 0;
    while let [first, behind @ ..] = rest {
        match first {
            b'"' => {
                let (of_string, behind) = string_length(behind);
                length += of_string;
                rest = behind;
            }
            _ => {
                length += usize::from(!first.is_ascii_whitespace());
                rest = behind;
            }
        }
    }
    length
}

/// The written length of the string that starts after its first quote, and the rest of the text.
fn string_length(mut rest: &[u8]) -> (usize, &[u8]) {
    let mut length = 2;
    loop {
        let (bytes, behind) = match rest {
            [] => return (length, rest),
            [b'"', behind @ ..] => return (length, behind),
            [b'\\', b'u', escape @ ..] => {
                let (escape, behind) = escape.split_at(escape.len().min(4));
                (written_length(escape), behind)
            }
            // An escaped slash is written without its backslash.
            [b'\\', b'/', behind @ ..] => (1, behind),
            [b'\\', _, behind @ ..] => (2, behind),
            [_, behind @ ..] => (1, behind),
        };
        length += bytes;
        rest = behind;
    }
}

/// The written length of a character escaped as four hexadecimal digits.
fn written_length(digits: &[u8]) -> usize {
    let digits = std::str::from_utf8(digits).unwrap_or_default();
    match u32::from_str_radix(digits, 16).unwrap_or_default() {
        0x08 | 0x09 | 0x0a | 0x0c | 0x0d | 0x22 | 0x5c => 2,
        0..0x20 => 6,
        0x20..0x80 => 1,
        // Each half of a surrogate pair; both are four bytes together.
        0x80..0x800 | 0xd800..=0xdfff => 2,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;
    use proptest::prelude::*;
    use std::fmt::Write as _;

    fn length_of(text: &str) -> usize {
        Json::parse(text, 32).unwrap().to_compact().len()
    }

    fn measured(text: &str) -> usize {
        compact_length(serde_json::from_str(text).unwrap())
    }

    #[test]
    fn the_compact_length_is_measured_without_building_a_tree() {
        for text in [
            r#" { "a" : [ 1 , -2.5e3 , "x y" ] , "b\/\u002F" : "\"\\\b\f\n\r\t" } "#,
            r#""\u0000\u001f\u0020\u0022\u005c\u0008\u000a\u007f\u0080\u07ff\u0800\uffff\ud83d\ude00""#,
            "\"é\u{2028}\u{10ffff}\"",
            "[true,false,null,[],{}]",
            "1e5",
        ] {
            assert_eq!(measured(text), length_of(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn the_compact_length_equals_the_written_length(text in ".{0,40}", keep in any::<u64>(), number in any::<f64>()) {
            let number = if number.is_finite() { number } else { 0.0 };
            // Some of the characters are escaped that need not be.
            let mut written = String::from("[ \"");
            for (at, unit) in text.encode_utf16().enumerate() {
                match char::from_u32(u32::from(unit)).filter(|it| keep >> (at % 64) & 1 == 0 && !it.is_control() && !"\"\\".contains(*it)) {
                    Some(plain) => written.push(plain),
                    None => { let _ = write!(written, "\\u{unit:04x}"); }
                }
            }
            let _ = write!(written, "\"\t, {number:?} ]");
            prop_assert_eq!(measured(&written), length_of(&written));
        }
    }
}
