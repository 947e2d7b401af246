//! The canonical text of a JSON value, which the service signs: it survives a round trip, and it equals the text of a small
//! reference implementation.

use std::fmt::Write as _;
use tintype_storage::domain::webhook::Encoding;
use tintype_storage::json::Json;
use tintype_storage::webhook_wire::canonical::canonical;

const DEPTH: usize = 33;

pub fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let Ok(value) = Json::parse(text, DEPTH) else {
        return;
    };
    let compact = Json::parse(&value.to_compact(), DEPTH).expect("compact text is JSON");
    assert_eq!(compact, value);
    let reversed = reversed(&value);
    for encoding in Encoding::ALL {
        let written = canonical(&value, encoding);
        let read = Json::parse(&written, DEPTH).expect("canonical text is JSON");
        assert_eq!(canonical(&read, encoding), written, "not stable");
        assert_eq!(
            canonical(&reversed, encoding),
            written,
            "depends on the order"
        );
        let mut expected = String::new();
        reference(&value, encoding, &mut expected);
        assert!(is_equivalent(&written, &expected), "{written}\n{expected}");
        assert!(
            encoding == Encoding::Utf8 || written.bytes().all(|it| (b' '..=b'~').contains(&it))
        );
    }
}

/// The value with the members of each object in reverse order.
fn reversed(value: &Json) -> Json {
    match value {
        Json::Array(items) => Json::Array(items.iter().map(reversed).collect()),
        Json::Object(members) => {
            let members = members.iter().rev();
            Json::Object(members.map(|it| (it.0.clone(), reversed(&it.1))).collect())
        }
        other => other.clone(),
    }
}

fn reference(value: &Json, encoding: Encoding, out: &mut String) {
    match value {
        Json::Null => out.push_str("null"),
        Json::Bool(it) => out.push_str(&it.to_string()),
        Json::Number(text) => out.push_str(&number(text, encoding)),
        Json::String(text) => string(text, encoding, out),
        Json::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                out.push(if at == 0 { '[' } else { ',' });
                reference(item, encoding, out);
            }
            out.push_str(if items.is_empty() { "[]" } else { "]" });
        }
        Json::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(name, _)| match encoding {
                Encoding::Ascii => name.chars().map(u32::from).collect::<Vec<_>>(),
                Encoding::Utf8 => name.encode_utf16().map(u32::from).collect(),
            });
            for (at, (name, value)) in members.iter().enumerate() {
                out.push(if at == 0 { '{' } else { ',' });
                string(name, encoding, out);
                out.push(':');
                reference(value, encoding, out);
            }
            out.push_str(if members.is_empty() { "{}" } else { "}" });
        }
    }
}

/// RFC 8259, section 7, with the short escapes where they exist.
fn string(text: &str, encoding: Encoding, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        let short = "\"\"\\\\\u{8}b\tt\nn\u{c}f\rr".chars().collect::<Vec<_>>();
        if let Some(pair) = short.chunks(2).find(|pair| pair[0] == c) {
            out.extend(['\\', pair[1]]);
        } else if c < ' ' || (encoding == Encoding::Ascii && c > '~') {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out.push('"');
}

/// ECMA-262, Number::toString, from the shortest digits that Rust finds; Python's `repr` differs for small numbers.
fn number(text: &str, encoding: Encoding) -> String {
    let ascii = encoding == Encoding::Ascii;
    if ascii && text.bytes().all(|it| it.is_ascii_digit() || it == b'-') {
        return if text == "-0" { "0" } else { text }.to_owned();
    }
    let value: f64 = text.parse().unwrap();
    if value == 0.0 {
        return "0".into();
    }
    let spelled = format!("{:e}", value.abs());
    let (digits, exponent) = spelled.split_once('e').unwrap();
    let digits = digits.replace('.', "");
    // The position of the point, counted from the first digit.
    let point = exponent.parse::<i32>().unwrap() + 1;
    let count = digits.len() as i32;
    let first_zeros = if ascii { -3 } else { -5 };
    let unsigned = if (count..=21).contains(&point) {
        format!("{digits}{}", "0".repeat((point - count) as usize))
    } else if (1..=21).contains(&point) {
        format!(
            "{}.{}",
            &digits[..point as usize],
            &digits[point as usize..]
        )
    } else if (first_zeros..=0).contains(&point) {
        format!("0.{}{digits}", "0".repeat(-point as usize))
    } else {
        let fraction = if count > 1 {
            format!(".{}", &digits[1..])
        } else {
            String::new()
        };
        let exponent = match (point - 1, ascii) {
            (it @ 0.., _) => format!("+{it}"),
            (it, true) => format!("-{:02}", -it),
            (it, false) => it.to_string(),
        };
        format!("{}{fraction}e{exponent}", &digits[..1])
    };
    let sign = if value < 0.0 { "-" } else { "" };
    format!("{sign}{unsigned}")
}

/// Compares the texts. Of two shortest spellings that are equally near, Rust takes the upper one and the others the even one.
fn is_equivalent(written: &str, expected: &str) -> bool {
    let pieces = |text: &str| -> Vec<String> {
        let number = |c: char| c.is_ascii_digit() || ".eE+-".contains(c);
        text.split_inclusive(|c| !number(c))
            .map(str::to_owned)
            .collect()
    };
    let (a, b) = (pieces(written), pieces(expected));
    let same = |(a, b): (&String, &String)| {
        let end = |it: &str| {
            it.trim_end_matches(|c: char| !c.is_ascii_digit())
                .to_owned()
        };
        let double = |it: &String| end(it).parse::<f64>().ok();
        a == b || (a.len() == b.len() && double(a).is_some() && double(a) == double(b))
    };
    a.len() == b.len() && a.iter().zip(&b).all(same)
}
