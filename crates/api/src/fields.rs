//! Reads a JSON object field by field and collects all faults, so that the response reports them all at once.

use crate::fault_list::FaultList;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tintype_storage::json::{LONE_SURROGATE, Members, unescape};

/// Of a name in a message.
const MAX_SHOWN_CHARS: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct FieldFault {
    /// The path in the body, such as `input_images_urls[2]`, the name of a parameter or header, or `body`.
    pub field: String,
    /// What is wrong, and what is expected.
    pub message: String,
}

impl FieldFault {
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            message: message.into(),
        }
    }
}

/// The unread fields of a body, and the faults found so far.
pub struct Fields<'a> {
    members: Vec<(String, &'a RawValue)>,
    faults: FaultList<FieldFault>,
    /// Optional fields that this request requires.
    required: &'static [&'static str],
}

impl<'a> Fields<'a> {
    /// # Errors
    /// The body is not a JSON object.
    pub fn parse(body: &'a [u8]) -> Result<Self, Vec<FieldFault>> {
        let wrong = |message: String| vec![FieldFault::new("body", message)];
        let text = std::str::from_utf8(body)
            .map_err(|error| wrong(format!("is not UTF-8 from byte {} on", error.valid_up_to())))?;
        if text.trim().is_empty() {
            return Err(wrong("is empty; send a JSON object".into()));
        }
        let object: Members<'a> =
            serde_json::from_str(text).map_err(|error| wrong(syntax_fault(text, &error)))?;
        let mut fields = Self {
            members: object.members,
            faults: FaultList::default(),
            required: &[],
        };
        // No body has so many fields, so each unread one is a fault.
        fields.faults.add_unlisted(object.unread);
        for name in &object.repeated {
            fields.fault_with(|| FieldFault::new(shown(name), "is given twice; send it once"));
        }
        Ok(fields)
    }

    /// Requires optional fields.
    pub fn requiring(self, required: &'static [&'static str]) -> Self {
        Self { required, ..self }
    }

    pub fn requires(&self, name: &str) -> bool {
        self.required.contains(&name)
    }

    pub fn fault(&mut self, field: impl Into<String>, message: impl Into<String>) {
        self.fault_with(|| FieldFault::new(field, message));
    }

    /// [`fault`](Self::fault) for a part of the body of which there may be very many: the texts of an unlisted fault would only cost time.
    pub fn fault_with(&mut self, describe: impl FnOnce() -> FieldFault) {
        self.faults.add_with(describe);
    }

    /// The names of the unread fields.
    pub fn names(&self) -> Vec<String> {
        self.members.iter().map(|(name, _)| name.clone()).collect()
    }

    /// Is the field present and unread?
    pub fn has(&self, name: &str) -> bool {
        self.members.iter().any(|(it, _)| it == name)
    }

    /// Is the field present, unread and not `null`?
    pub fn is_given(&self, name: &str) -> bool {
        let mut members = self.members.iter();
        members.any(|(it, raw)| it == name && raw.get() != "null")
    }

    /// Takes the JSON text of a field, which may be `null`.
    pub fn raw(&mut self, name: &str) -> Option<&'a RawValue> {
        let at = self.members.iter().position(|(it, _)| it == name)?;
        Some(self.members.swap_remove(at).1)
    }

    /// Takes the JSON text of an optional field. `null` counts as absent.
    pub fn optional(&mut self, name: &str) -> Option<&'a RawValue> {
        self.raw(name).filter(|raw| raw.get() != "null")
    }

    pub fn required_string(&mut self, name: &str) -> Option<String> {
        match self.raw(name) {
            Some(raw) => self.string_of(name, raw),
            None => {
                self.fault(name, "is required");
                None
            }
        }
    }

    pub fn optional_string(&mut self, name: &str) -> Option<String> {
        let raw = self.optional(name)?;
        self.string_of(name, raw)
    }

    pub fn bool_of(&mut self, name: &str, raw: &RawValue) -> Option<bool> {
        let read = serde_json::from_str(raw.get()).ok();
        if read.is_none() {
            self.fault(name, format!("must be true or false, not {}", kind(raw)));
        }
        read
    }

    /// Returns the value, or records the error as a fault of the field.
    pub fn checked<T, E: std::fmt::Display>(
        &mut self,
        name: &str,
        outcome: Result<T, E>,
    ) -> Option<T> {
        outcome
            .map_err(|error| self.fault(name, error.to_string()))
            .ok()
    }

    pub fn string_of(&mut self, name: &str, raw: &RawValue) -> Option<String> {
        self.string_at(|| name.to_owned(), raw)
    }

    /// [`string_of`](Self::string_of) for an entry of a list: only a fault needs the `path` of the entry.
    pub fn string_at(&mut self, path: impl FnOnce() -> String, raw: &RawValue) -> Option<String> {
        if !raw.get().starts_with('"') {
            self.fault_with(|| {
                FieldFault::new(path(), format!("must be a string, not {}", kind(raw)))
            });
            return None;
        }
        let read = unescape(raw.get());
        if read.is_none() {
            self.fault_with(|| FieldFault::new(path(), LONE_SURROGATE));
        }
        read
    }

    pub fn entries_of(&mut self, name: &str, raw: &'a RawValue) -> Option<Vec<&'a RawValue>> {
        let entries = serde_json::from_str(raw.get()).ok();
        if entries.is_none() {
            self.fault(
                name,
                format!("must be an array of strings, not {}", kind(raw)),
            );
        }
        entries
    }

    /// Each invalid entry is a separate fault.
    pub fn strings_of(&mut self, name: &str, raw: &'a RawValue) -> Option<Vec<String>> {
        let entries = self.entries_of(name, raw)?;
        let before = self.faults.found();
        let read: Vec<String> = entries
            .iter()
            .enumerate()
            .filter_map(|(at, entry)| self.string_at(|| format!("{name}[{at}]"), entry))
            .collect();
        (self.faults.found() == before).then_some(read)
    }

    /// Records all unread fields as unknown. `known` are the names of the body's fields.
    pub fn finish(mut self, known: &[&str]) -> Result<(), Vec<FieldFault>> {
        for (name, _) in std::mem::take(&mut self.members) {
            self.fault_with(|| {
                let message = match nearest(&name, known.iter().copied()) {
                    Some(meant) => format!("is unknown; did you mean `{meant}`?"),
                    None => format!("is unknown; the fields are {}", known.join(", ")),
                };
                FieldFault::new(shown(&name), message)
            });
        }
        self.faults.finish(|text| FieldFault::new("body", text))
    }
}

/// The parser's own message about `prompt: x` or `name,model` speaks of an identifier.
fn syntax_fault(text: &str, error: &serde_json::Error) -> String {
    match text.trim_start().starts_with('{') {
        true => format!("is not a well-formed JSON object: {error}"),
        false => "is not a well-formed JSON object: it does not begin with `{`".to_owned(),
    }
}

/// The type of a JSON text, with an article.
pub fn kind(raw: &RawValue) -> &'static str {
    match raw.get().as_bytes().first() {
        Some(b'n') => "null",
        Some(b't' | b'f') => "a boolean",
        Some(b'"') => "a string",
        Some(b'[') => "an array",
        Some(b'{') => "an object",
        _ => "a number",
    }
}

/// The known name that was probably meant: equal but for case and separators, or within two typos (one in a name of 3 to 5 letters).
pub fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    if name.len() > MAX_SHOWN_CHARS {
        return None;
    }
    let folded = fold(name);
    let typos = |known: &'k str| (strsim::damerau_levenshtein(&folded, &fold(known)), known);
    let found = known.into_iter().map(typos);
    let (_, meant) = found
        .filter(|(typos, known)| *typos <= (known.len() / 3).min(2))
        .min_by_key(|(typos, _)| *typos)?;
    Some(meant)
}

/// Removes case and separators, in which mistyped names often differ.
fn fold(name: &str) -> String {
    name.chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

/// Shortens a name for a message, and quotes an invisible one.
pub fn shown(name: &str) -> String {
    let start: String = name.chars().take(MAX_SHOWN_CHARS).collect();
    match start.trim() {
        "" => format!("{start:?}"),
        _ => start,
    }
}

#[cfg(test)]
mod tests {
    use super::{FieldFault, Fields, nearest, shown};
    use crate::fault_list::MAX_FAULTS;

    #[test]
    fn a_mistyped_name_is_recognized() {
        let known = ["prompt", "model", "aspect_ratio", "url"];
        for (name, meant) in [
            ("promt", Some("prompt")),
            ("prmopt", Some("prompt")),
            ("aspectRatio", Some("aspect_ratio")),
            ("aspect-ration", Some("aspect_ratio")),
            ("ASPECT-RATIO", Some("aspect_ratio")),
            ("modell", Some("model")),
            ("urls", Some("url")),
            ("size", None),
            ("", None),
        ] {
            assert_eq!(nearest(name, known), meant, "{name}");
        }
        assert_eq!(nearest(&"prompt".repeat(100_000), known), None);
        assert_eq!(nearest("lg", ["log"]), Some("log"));
        assert_eq!(nearest("z", ["g"]), None);
    }

    #[test]
    fn a_text_that_is_no_object_is_described_without_the_parser() {
        let fault = |text: &str| Fields::parse(text.as_bytes()).err().unwrap().remove(0);
        let message = fault("custom_id,model").message;
        assert_eq!(
            message,
            "is not a well-formed JSON object: it does not begin with `{`"
        );
        let message = fault("{\"a\": 1,}").message;
        assert_eq!(
            message,
            "is not a well-formed JSON object: trailing comma at line 1 column 9"
        );
    }

    #[test]
    fn faults_beyond_the_listed_ones_are_counted_and_not_described() {
        let mut fields = Fields::parse(b"{}").unwrap();
        let mut described = 0;
        for at in 0..MAX_FAULTS + 50 {
            fields.fault_with(|| {
                described += 1;
                FieldFault::new(format!("urls[{at}]"), "is wrong")
            });
        }
        assert_eq!(described, MAX_FAULTS);
        let faults = fields.finish(&[]).unwrap_err();
        assert_eq!(faults.len(), MAX_FAULTS + 1);
        let last = faults.last().unwrap();
        assert_eq!(last.message, "has 50 more errors that are not listed");
    }

    #[test]
    fn members_beyond_a_thousand_are_counted_and_not_stored() {
        let members: Vec<String> = (0..2_500).map(|at| format!("\"{at}\": 1")).collect();
        let body = format!("{{{}}}", members.join(", "));
        let fields = Fields::parse(body.as_bytes()).unwrap();
        assert_eq!(fields.members.len(), 1_000);
        let faults = fields.finish(&[]).unwrap_err();
        let last = faults.last().unwrap();
        assert_eq!(last.message, "has 2400 more errors that are not listed");
    }

    #[test]
    fn an_invisible_name_is_quoted() {
        assert_eq!(shown(""), r#""""#);
        assert_eq!(shown(" \t"), r#"" \t""#);
        assert_eq!(shown(" a"), " a");
        assert_eq!(shown(&"é".repeat(70)), "é".repeat(64));
    }
}
