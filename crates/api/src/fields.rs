//! Reads a JSON object field by field and remembers every fault, so that a caller hears of all of them at once.

use serde_json::value::RawValue;
use tintype_storage::domain::json::Members;

/// Faults that an answer lists. A body of one mebibyte can hold half a million, and the answer must not be many times
/// its size.
const MAX_FAULTS: usize = 100;

/// One faulty field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldFault {
    /// Its JSON path, `body` for the body as a whole, or the name of a header or parameter.
    pub field: String,
    /// What is wrong with it, and what would be right.
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

/// The fields of a body that have not been read yet, and the faults found so far.
pub struct Fields<'a> {
    members: Vec<(String, &'a RawValue)>,
    faults: Vec<FieldFault>,
    /// Faults found, listed or not.
    found: usize,
    /// Fields that this call requires although their body has them as optional.
    required: &'static [&'static str],
}

impl<'a> Fields<'a> {
    /// Takes a body apart. Fails when it is no JSON object.
    pub fn parse(body: &'a [u8]) -> Result<Self, Vec<FieldFault>> {
        let wrong = |message: String| vec![FieldFault::new("body", message)];
        let text = std::str::from_utf8(body)
            .map_err(|error| wrong(format!("is not UTF-8 from byte {} on", error.valid_up_to())))?;
        if text.trim().is_empty() {
            return Err(wrong("is empty; send a JSON object".into()));
        }
        let object: Members<'a> = serde_json::from_str(text)
            .map_err(|error| wrong(format!("is not a well-formed JSON object: {error}")))?;
        let mut fields = Self {
            members: object.members,
            faults: Vec::new(),
            found: 0,
            required: &[],
        };
        for name in &object.repeated {
            fields.fault(shown(name), "stands twice; send it once");
        }
        Ok(fields)
    }

    /// Requires fields that their body has as optional.
    pub fn requiring(self, required: &'static [&'static str]) -> Self {
        Self { required, ..self }
    }

    /// Does this call require the field?
    pub fn requires(&self, name: &str) -> bool {
        self.required.contains(&name)
    }

    /// Remembers a fault.
    pub fn fault(&mut self, field: impl Into<String>, message: impl Into<String>) {
        self.found += 1;
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(FieldFault::new(field, message));
        }
    }

    /// Was this field sent and not read yet?
    pub fn has(&self, name: &str) -> bool {
        self.members.iter().any(|(it, _)| it == name)
    }

    /// The same, and it is not `null`.
    pub fn is_given(&self, name: &str) -> bool {
        let mut members = self.members.iter();
        members.any(|(it, raw)| it == name && raw.get() != "null")
    }

    /// The text of a field's value, as written; `null` counts as written.
    pub fn raw(&mut self, name: &str) -> Option<&'a RawValue> {
        let at = self.members.iter().position(|(it, _)| it == name)?;
        Some(self.members.swap_remove(at).1)
    }

    /// The same, with `null` counted as absent: for optional fields.
    pub fn optional(&mut self, name: &str) -> Option<&'a RawValue> {
        self.raw(name).filter(|raw| raw.get() != "null")
    }

    /// A required string.
    pub fn required_string(&mut self, name: &str) -> Option<String> {
        match self.raw(name) {
            Some(raw) => self.string_of(name, raw),
            None => {
                self.fault(name, "is required");
                None
            }
        }
    }

    /// An optional string.
    pub fn optional_string(&mut self, name: &str) -> Option<String> {
        let raw = self.optional(name)?;
        self.string_of(name, raw)
    }

    /// A boolean from its JSON text.
    pub fn bool_of(&mut self, name: &str, raw: &RawValue) -> Option<bool> {
        let read = serde_json::from_str(raw.get()).ok();
        if read.is_none() {
            self.fault(name, format!("must be true or false, not {}", kind(raw)));
        }
        read
    }

    /// The value, or its error as a fault of the field.
    pub fn checked<T, E: std::fmt::Display>(
        &mut self,
        name: &str,
        outcome: Result<T, E>,
    ) -> Option<T> {
        outcome
            .map_err(|error| self.fault(name, error.to_string()))
            .ok()
    }

    /// A string from its JSON text.
    pub fn string_of(&mut self, name: &str, raw: &RawValue) -> Option<String> {
        if !raw.get().starts_with('"') {
            self.fault(name, format!("must be a string, not {}", kind(raw)));
            return None;
        }
        let read = serde_json::from_str(raw.get()).ok();
        if read.is_none() {
            self.fault(
                name,
                "must be a string of Unicode characters; it holds a lone surrogate",
            );
        }
        read
    }

    /// The entries of an array from its JSON text.
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

    /// An array of strings from its JSON text; each wrong entry is a fault of its own.
    pub fn strings_of(&mut self, name: &str, raw: &'a RawValue) -> Option<Vec<String>> {
        let entries = self.entries_of(name, raw)?;
        let before = self.found;
        let read: Vec<String> = entries
            .iter()
            .enumerate()
            .filter_map(|(at, entry)| self.string_of(&format!("{name}[{at}]"), entry))
            .collect();
        (self.found == before).then_some(read)
    }

    /// Ends the reading: what is left over is unknown. `known` are the names that the body could have.
    pub fn finish(mut self, known: &[&str]) -> Result<(), Vec<FieldFault>> {
        for (name, _) in std::mem::take(&mut self.members) {
            let folded = fold(&name);
            let meant = known.iter().find(|it| fold(it) == folded);
            let message = match meant {
                Some(meant) => format!("is unknown; did you mean `{meant}`?"),
                None => format!("is unknown; the fields are {}", known.join(", ")),
            };
            self.fault(shown(&name), message);
        }
        let unlisted = self.found - self.faults.len();
        if unlisted > 0 {
            let message = format!("has {unlisted} more faults than are listed here");
            self.faults.push(FieldFault::new("body", message));
        }
        if self.faults.is_empty() {
            Ok(())
        } else {
            Err(self.faults)
        }
    }
}

/// What a JSON text is, in words.
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

/// Names that differ only in case and separators are the same to a person.
fn fold(name: &str) -> String {
    name.chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

/// As much of a name as a message may hold; one that nobody would see, in quotes.
pub fn shown(name: &str) -> String {
    let start: String = name.chars().take(64).collect();
    match start.trim() {
        "" => format!("{start:?}"),
        _ => start,
    }
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn a_name_that_nobody_would_see_stands_in_quotes() {
        assert_eq!(shown(""), r#""""#);
        assert_eq!(shown(" \t"), r#"" \t""#);
        assert_eq!(shown(" a"), " a");
        assert_eq!(shown(&"é".repeat(70)), "é".repeat(64));
    }
}
