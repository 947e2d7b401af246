//! The canonical text of a JSON value, which is signed and sent.
//!
//! A receiver may check the raw bytes, or parse and re-serialize them as the specification says ("Signature"). Both succeed if
//! the text equals the output of the receiver's own serializer. Serialisers differ, so there are two encodings: Python's and
//! JavaScript's.

use crate::domain::webhook::Encoding;
use crate::json::{self, Json};

/// Equal values give equal text, and reading the text gives the same text again.
pub fn canonical(value: &Json, encoding: Encoding) -> String {
    let mut out = String::new();
    write(value, encoding, &mut out);
    out
}

fn write(value: &Json, encoding: Encoding, out: &mut String) {
    match value {
        Json::Null => out.push_str("null"),
        Json::Bool(true) => out.push_str("true"),
        Json::Bool(false) => out.push_str("false"),
        Json::Number(text) => write_number(text, encoding, out),
        Json::String(text) => write_string(text, encoding, out),
        Json::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write(item, encoding, out);
            }
            out.push(']');
        }
        Json::Object(members) => {
            let mut order: Vec<&(String, Json)> = members.iter().collect();
            match encoding {
                // UTF-8 byte order is code point order.
                Encoding::Ascii => order.sort_by(|a, b| a.0.cmp(&b.0)),
                Encoding::Utf8 => order.sort_by(|a, b| a.0.encode_utf16().cmp(b.0.encode_utf16())),
            }
            out.push('{');
            for (at, (name, value)) in order.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_string(name, encoding, out);
                out.push(':');
                write(value, encoding, out);
            }
            out.push('}');
        }
    }
}

fn write_string(text: &str, encoding: Encoding, out: &mut String) {
    match encoding {
        Encoding::Ascii => {
            out.push('"');
            text.chars().for_each(|c| write_ascii(c, out));
            out.push('"');
        }
        // serde_json escapes strings as RFC 8785 does.
        Encoding::Utf8 => out.push_str(&json::to_text(text)),
    }
}

fn write_ascii(c: char, out: &mut String) {
    match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\u{8}' => out.push_str("\\b"),
        '\t' => out.push_str("\\t"),
        '\n' => out.push_str("\\n"),
        '\u{c}' => out.push_str("\\f"),
        '\r' => out.push_str("\\r"),
        ' '..='~' => out.push(c),
        _ => {
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
}

/// Python keeps an integer's digits. A double is spelled so that Python and JavaScript rewrite it unchanged, except from 1e-9
/// to 1e-4, where each has its own spelling.
fn write_number(text: &str, encoding: Encoding, out: &mut String) {
    let is_integer = !text.contains(['.', 'e', 'E']);
    match text.parse::<f64>() {
        Ok(_) if is_integer && encoding == Encoding::Ascii => {
            out.push_str(if text == "-0" { "0" } else { text });
        }
        Ok(value) if encoding == Encoding::Ascii && value != 0.0 && value.abs() < 1e-4 => {
            out.push_str(&python_small(value));
        }
        Ok(value) if value.is_finite() => out.push_str(&ecmascript(value)),
        // The reader refuses such numbers, so no value holds one.
        _ => out.push_str(text),
    }
}

/// ECMAScript's `Number::toString`. Rust's formatting was refused: of two equally near shortest spellings it takes the upper
/// one (642537056656340.25 as .3), JavaScript and Python the even one (.2).
fn ecmascript(value: f64) -> String {
    ryu_js::Buffer::new().format_finite(value).to_owned()
}

/// Python's `repr` below 1e-4: the same digits, with an exponent of at least two digits.
fn python_small(value: f64) -> String {
    let text = ecmascript(value);
    if let Some((digits, exponent)) = text.split_once("e-") {
        return format!("{digits}e-{exponent:0>2}");
    }
    // JavaScript writes small numbers without an exponent first: 0.0000015.
    let (sign, fraction) = text.split_once("0.").unwrap_or_default();
    let digits = fraction.trim_start_matches('0');
    let exponent = fraction.len() - digits.len() + 1;
    let (first, rest) = digits.split_at(digits.len().min(1));
    let point = if rest.is_empty() { "" } else { "." };
    format!("{sign}{first}{point}{rest}e-{exponent:0>2}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn both(text: &str) -> [String; 2] {
        let value = Json::parse(text, 40).unwrap();
        Encoding::ALL.map(|encoding| canonical(&value, encoding))
    }

    #[test]
    fn numbers_have_one_spelling_each() {
        for (text, ascii, utf8) in [
            ("-0", "0", "0"),
            ("0.0", "0", "0"),
            ("-0.0", "0", "0"),
            ("1e-999", "0", "0"),
            ("1.0", "1", "1"),
            ("-1E2", "-100", "-100"),
            ("1e16", "10000000000000000", "10000000000000000"),
            (
                "1152921504606846976.0",
                "1152921504606847000",
                "1152921504606847000",
            ),
            (
                "999999999999999900000.0",
                "999999999999999900000",
                "999999999999999900000",
            ),
            ("1e21", "1e+21", "1e+21"),
            (
                "1.7976931348623157e308",
                "1.7976931348623157e+308",
                "1.7976931348623157e+308",
            ),
            ("0.1", "0.1", "0.1"),
            ("2.50", "2.5", "2.5"),
            ("0.0001", "0.0001", "0.0001"),
            ("1e-5", "1e-05", "0.00001"),
            ("0.0000015", "1.5e-06", "0.0000015"),
            ("-1.5e-7", "-1.5e-07", "-1.5e-7"),
            ("1e-10", "1e-10", "1e-10"),
            (
                "642537056656340.25",
                "642537056656340.2",
                "642537056656340.2",
            ),
            ("5e-324", "5e-324", "5e-324"),
            ("9007199254740993", "9007199254740993", "9007199254740992"),
            (
                "18446744073709551616",
                "18446744073709551616",
                "18446744073709552000",
            ),
            (
                "-123456789012345678901234567890",
                "-123456789012345678901234567890",
                "-1.2345678901234568e+29",
            ),
        ] {
            assert_eq!(both(text), [ascii, utf8], "{text}");
        }
    }

    #[test]
    fn strings_are_escaped_as_python_and_javascript_do() {
        assert_eq!(
            both(r#""\b\t\n\f\r\"\\\/ ~\u0000\u001f\u007f\u0085\u00E9\u2028\uFFFF\uD83D\uDE00""#),
            [
                r#""\b\t\n\f\r\"\\/ ~\u0000\u001f\u007f\u0085\u00e9\u2028\uffff\ud83d\ude00""#,
                "\"\\b\\t\\n\\f\\r\\\"\\\\/ ~\\u0000\\u001f\u{7f}\u{85}é\u{2028}\u{ffff}😀\"",
            ]
        );
    }

    #[test]
    fn hostile_29_names_are_sorted_by_code_point_in_ascii_and_by_utf_16_unit_in_utf_8() {
        assert_eq!(
            both(r#"{"😀":1,"\ue000":2,"z":{"b":0,"a":0},"10":3,"9":4,"":5}"#),
            [
                r#"{"":5,"10":3,"9":4,"z":{"a":0,"b":0},"\ue000":2,"\ud83d\ude00":1}"#,
                "{\"\":5,\"10\":3,\"9\":4,\"z\":{\"a\":0,\"b\":0},\"😀\":1,\"\u{e000}\":2}",
            ]
        );
    }

    #[test]
    fn encoding_names_round_trip() {
        for encoding in Encoding::ALL {
            assert_eq!(encoding.as_str().parse::<Encoding>().unwrap(), encoding);
        }
        assert!("UTF8".parse::<Encoding>().is_err());
    }

    fn number() -> impl Strategy<Value = String> {
        prop_oneof![
            any::<f64>()
                .prop_filter("finite", |it| it.is_finite())
                .prop_map(|it| format!("{it:e}")),
            any::<i128>().prop_map(|it| it.to_string()),
            "-?(0|[1-9][0-9]{0,24})(\\.[0-9]{1,20})?([eE][-+]?[0-9]{1,2})?",
        ]
    }

    fn value() -> impl Strategy<Value = Json> {
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::Bool),
            number().prop_map(Json::Number),
            any::<String>().prop_map(Json::String),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Json::Array),
                prop::collection::btree_map(any::<String>(), inner, 0..6)
                    .prop_map(|members| Json::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_canonical_text_of_a_canonical_text_is_itself(value in value()) {
            for encoding in Encoding::ALL {
                let text = canonical(&value, encoding);
                let again = canonical(&Json::parse(&text, 40).unwrap(), encoding);
                prop_assert_eq!(&text, &again);
                prop_assert!(encoding == Encoding::Utf8 || text.bytes().all(|it| (0x20..0x7f).contains(&it)));
            }
        }

        #[test]
        fn a_double_round_trips_through_its_text(bits: u64) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            for text in both(&format!("{value:e}")) {
                prop_assert_eq!(text.parse::<f64>().unwrap(), value);
            }
        }
    }
}
