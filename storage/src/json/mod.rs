//! JSON as callers wrote it: numbers keep their digits, members keep their order, and a duplicate name is an error.
//!
//! `serde_json::Value` was refused: it rounds integers past 64 bits and lets the last of two equal names win. `serde_json`
//! checks the syntax and reads strings; one pass over the checked text builds the tree.

mod length;

pub use length::compact_length;

use serde::Serialize;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::fmt::{self, Write as _};

/// Objects with up to this many members are searched linearly.
const SHORT: usize = 8;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json {
    Null,
    Bool(bool),
    /// The original digits; the value is within the range of a double.
    Number(String),
    /// Unescaped.
    String(String),
    Array(Vec<Json>),
    /// In the order given; names are unique.
    Object(Vec<(String, Json)>),
}

/// A string such as `"\ud83d"`, which JavaScript makes of half an emoji.
pub const LONE_SURROGATE: &str =
    "must be a string of Unicode characters; it holds a lone surrogate";

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {kind}")]
pub struct JsonFault {
    /// Path below the value that was read, such as `.a.b[2]`; empty for the value itself.
    pub path: String,
    pub kind: JsonFaultKind,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonFaultKind {
    #[error("is nested too deep")]
    TooDeep,
    /// A sentence without its subject, such as `is given twice`.
    #[error("{0}")]
    Other(String),
}

impl JsonFault {
    fn new(path: &str, kind: JsonFaultKind) -> Self {
        Self {
            path: path.to_owned(),
            kind,
        }
    }

    fn other(path: &str, message: impl Into<String>) -> Self {
        Self::new(path, JsonFaultKind::Other(message.into()))
    }
}

/// An object's members with unparsed values.
pub struct Members<'a> {
    /// In the order given; the first of duplicate names.
    pub members: Vec<(String, &'a RawValue)>,
    /// Duplicate names.
    pub repeated: Vec<String>,
    /// Members beyond [`MAX_MEMBERS`].
    pub unread: usize,
}

/// A read member takes many times the memory of its text, and a body may have millions of them.
const MAX_MEMBERS: usize = 1_000;

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;

        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let (mut members, mut repeated) = (Vec::<(String, &RawValue)>::new(), Vec::new());
                let (mut names, mut unread) = (Names::default(), 0);
                while let Some(name) = map.next_key::<String>()? {
                    if members.len() + repeated.len() == MAX_MEMBERS {
                        map.next_value::<IgnoredAny>()?;
                        unread += 1;
                        continue;
                    }
                    let value = map.next_value()?;
                    if names.insert(&name, members.iter().map(|(it, _)| it)) {
                        members.push((name, value));
                    } else {
                        repeated.push(name);
                    }
                }
                Ok(Members {
                    members,
                    repeated,
                    unread,
                })
            }
        }

        deserializer.deserialize_map(MembersVisitor)
    }
}

/// The names of one object's members so far. Most objects have under ten members and need no hash table.
#[derive(Default)]
struct Names(HashSet<String>);

impl Names {
    /// Returns `false` if `name` is in `members`, which are all names added so far.
    fn insert<'a>(
        &mut self,
        name: &str,
        members: impl ExactSizeIterator<Item = &'a String>,
    ) -> bool {
        if members.len() < SHORT {
            return members.into_iter().all(|it| it != name);
        }
        if self.0.is_empty() {
            self.0.extend(members.cloned());
        }
        self.0.insert(name.to_owned())
    }
}

impl Json {
    /// Reads a value of at most `max_depth` nested containers; a container without containers in it counts 1.
    pub fn parse(text: &str, max_depth: usize) -> Result<Self, JsonFault> {
        let raw: &RawValue =
            serde_json::from_str(text).map_err(|fault| JsonFault::other("", fault.to_string()))?;
        Self::from_raw(raw, max_depth)
    }

    /// As [`Json::parse`], from text with checked syntax.
    pub fn from_raw(raw: &RawValue, max_depth: usize) -> Result<Self, JsonFault> {
        Reader::new(raw).value(max_depth)
    }

    /// Writes the value without blanks, members in the order given.
    pub fn to_compact(&self) -> String {
        let mut out = String::with_capacity(64);
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Number(digits) => out.push_str(digits),
            Self::String(text) => write_string(text, out),
            Self::Array(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    item.write(out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (at, (name, value)) in members.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    write_string(name, out);
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }
}

fn write_string(text: &str, out: &mut String) {
    let is_escaped = |byte: u8| byte < b' ' || matches!(byte, b'"' | b'\\');
    if text.bytes().any(is_escaped) {
        out.push_str(&to_text(text));
    } else {
        out.push('"');
        out.push_str(text);
        out.push('"');
    }
}

/// Serializes a value of the program's own types, which always succeeds: their maps have string keys, and none of them refuses a value.
pub fn to_bytes(value: &(impl Serialize + ?Sized)) -> Vec<u8> {
    // A panic is better than an empty body, which a receiver could take for a response.
    serde_json::to_vec(value).expect("a value that always serializes")
}

/// As [`to_bytes`], for a text.
pub fn to_text(value: &(impl Serialize + ?Sized)) -> String {
    serde_json::to_string(value).expect("a value that always serializes")
}

/// The content of a JSON string with checked syntax; `None` if it holds a lone surrogate.
pub fn unescape(quoted: &str) -> Option<String> {
    if quoted.contains('\\') {
        return serde_json::from_str(quoted).ok();
    }
    let content = quoted.strip_prefix('"')?.strip_suffix('"')?;
    Some(content.to_owned())
}

/// Reads a text whose syntax `serde_json` has checked, in one pass: its cost does not grow with the depth.
struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// The path of the value at `at`.
    path: String,
}

impl<'a> Reader<'a> {
    fn new(raw: &'a RawValue) -> Self {
        Self {
            text: raw.get(),
            at: 0,
            path: String::new(),
        }
    }

    fn value(&mut self, depth_left: usize) -> Result<Json, JsonFault> {
        match self.next_byte() {
            Some(b'n') => Ok(self.literal(4, Json::Null)),
            Some(b't') => Ok(self.literal(4, Json::Bool(true))),
            Some(b'f') => Ok(self.literal(5, Json::Bool(false))),
            Some(b'"') => self.string().map(Json::String),
            Some(b'[' | b'{') if depth_left == 0 => {
                Err(JsonFault::new(&self.path, JsonFaultKind::TooDeep))
            }
            Some(b'[') => self.array(depth_left - 1),
            Some(b'{') => self.object(depth_left - 1),
            _ => self.number(),
        }
    }

    fn array(&mut self, depth_left: usize) -> Result<Json, JsonFault> {
        self.at += 1;
        let mut items = Vec::new();
        while self.next_byte() != Some(b']') {
            self.skip(b',')?;
            let length = self.path.len();
            // Writing to a String cannot fail.
            let _ = write!(self.path, "[{}]", items.len());
            items.push(self.value(depth_left)?);
            self.path.truncate(length);
        }
        self.at += 1;
        Ok(Json::Array(items))
    }

    fn object(&mut self, depth_left: usize) -> Result<Json, JsonFault> {
        self.at += 1;
        let mut members: Vec<(String, Json)> = Vec::new();
        let mut names = Names::default();
        while self.next_byte() != Some(b'}') {
            self.skip(b',')?;
            let name = self.string()?;
            self.skip(b':')?;
            let length = self.path.len();
            self.path.push('.');
            self.path.push_str(shown_name(&name));
            if !names.insert(&name, members.iter().map(|(it, _)| it)) {
                return Err(self.fault("is given twice in one object"));
            }
            let value = self.value(depth_left)?;
            self.path.truncate(length);
            members.push((name, value));
        }
        self.at += 1;
        Ok(Json::Object(members))
    }

    fn string(&mut self) -> Result<String, JsonFault> {
        let rest = &self.text.as_bytes()[self.at..];
        let mut end = 1;
        while rest.get(end).is_some_and(|it| *it != b'"') {
            end += if rest[end] == b'\\' { 2 } else { 1 };
        }
        let text = self.text.get(self.at..=self.at + end);
        self.at += end + 1;
        // The syntax is checked, so nothing else can be wrong.
        unescape(text.unwrap_or_default()).ok_or_else(|| self.fault(LONE_SURROGATE))
    }

    fn number(&mut self) -> Result<Json, JsonFault> {
        let rest = &self.text[self.at..];
        let end = rest.find([',', ']', '}', ' ', '\t', '\n', '\r']);
        let text = &rest[..end.unwrap_or(rest.len())];
        self.at += text.len();
        number(text).map_err(|message| self.fault(message))
    }

    fn literal(&mut self, length: usize, value: Json) -> Json {
        self.at += length;
        value
    }

    /// Skips blanks; does not consume the returned byte.
    fn next_byte(&mut self) -> Option<u8> {
        let rest = &self.text.as_bytes()[self.at.min(self.text.len())..];
        self.at += rest
            .iter()
            .take_while(|it| it.is_ascii_whitespace())
            .count();
        self.text.as_bytes().get(self.at).copied()
    }

    /// Consumes a separator, if it is next, and the blanks after it.
    fn skip(&mut self, separator: u8) -> Result<(), JsonFault> {
        if self.next_byte() == Some(separator) {
            self.at += 1;
        }
        match self.next_byte() {
            Some(_) => Ok(()),
            None => Err(self.fault("ends too early")),
        }
    }

    fn fault(&self, message: impl Into<String>) -> JsonFault {
        JsonFault::other(&self.path, message)
    }
}

/// Truncates a name for a message; an empty one becomes two quotes.
fn shown_name(name: &str) -> &str {
    match name.char_indices().nth(64) {
        Some((end, _)) => &name[..end],
        None if name.is_empty() => "\"\"",
        None => name,
    }
}

fn number(text: &str) -> Result<Json, &'static str> {
    // Readers in other languages would not see the same number beyond a double.
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(Json::Number(text.to_owned())),
        _ => Err("is a number beyond the range of a double"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compact(text: &str) -> String {
        Json::parse(text, 32).unwrap().to_compact()
    }

    #[test]
    fn hostile_21_numbers_keep_their_digits() {
        let text = "[1.0,1,-0,1e5,9007199254740993,18446744073709551616,12345678901234567890123]";
        assert_eq!(compact(text), text);
        assert!(
            Json::parse("1e400", 32)
                .unwrap_err()
                .to_string()
                .contains("range")
        );
        assert!(Json::parse(&"9".repeat(400), 32).is_err());
    }

    #[test]
    fn hostile_20_a_name_twice_is_a_fault_at_any_depth() {
        for text in [
            r#"{"a":1,"a":2}"#,
            r#"{"a":1,"\u0061":2}"#,
            r#"[{"x":{"a":1,"a":2}}]"#,
        ] {
            assert!(
                Json::parse(text, 32).unwrap_err().path.ends_with(".a"),
                "{text}"
            );
        }
        let many: Vec<String> = (0..10_000).map(|at| format!("\"k{at}\":{at}")).collect();
        assert!(Json::parse(&format!("{{{}}}", many.join(",")), 32).is_ok());
        assert!(Json::parse(&format!("{{{},\"k77\":0}}", many.join(",")), 32).is_err());
    }

    #[test]
    fn hostile_19_nesting_is_limited() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(Json::parse(&nested(32), 32).is_ok());
        let fault = Json::parse(&nested(33), 32).unwrap_err();
        assert_eq!(fault.kind, JsonFaultKind::TooDeep);
        assert!(Json::parse(&nested(100_000), 32).is_err());
        assert!(Json::parse(&"[".repeat(100_000), 32).is_err());
    }

    #[test]
    fn whitespace_is_accepted_between_all_tokens() {
        assert_eq!(
            compact("\r\n { \"a\" :\t[ 1 , -2.5e3 , [ ] , { } ] , \"b\" : \"\\\\\" } \n"),
            r#"{"a":[1,-2.5e3,[],{}],"b":"\\"}"#
        );
    }

    #[test]
    fn hostile_22_strings_are_valid_unicode() {
        let fault = Json::parse(r#"{"a":["\ud83d"]}"#, 32).unwrap_err();
        assert_eq!(fault, JsonFault::other(".a[0]", LONE_SURROGATE));
        assert_eq!(compact(r#""\u0000\u2028é""#), "\"\\u0000\u{2028}é\"");
        assert!(
            Json::parse("\"\u{0}\"", 32).is_err(),
            "raw control character"
        );
        assert!(Json::parse("\u{feff}1", 32).is_err(), "byte order mark");
    }

    #[test]
    fn hostile_23_text_that_is_not_json_is_rejected() {
        for text in [
            "", "[1,]", "NaN", "{}{}", "// x\n1", "01", "1.", "'a'", "{a:1}", "tru",
        ] {
            assert!(Json::parse(text, 32).is_err(), "{text}");
        }
    }

    #[test]
    fn special_member_names_are_ordinary_names() {
        let text = r#"{"$serde_json::private::Number":"1","$serde_json::private::RawValue":"2","__proto__":{},"":0}"#;
        assert_eq!(compact(text), text);
    }

    #[test]
    fn a_fault_names_its_path() {
        assert_eq!(
            Json::parse(r#"{"a":[0,{"b":1e999}]}"#, 32)
                .unwrap_err()
                .path,
            ".a[1].b"
        );
        let nameless = Json::parse(r#"{"":{"b":0,"b":1}}"#, 32).unwrap_err();
        assert_eq!(nameless.path, ".\"\".b");
    }
}
