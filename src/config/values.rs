//! What a key takes: the checks that a value goes through on its way into the configuration.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeOwned, IntoDeserializer};

use super::error::printable;
use super::node::{Item, Node};
use super::reader::Field;
use super::secret::Secret;

/// A whole number in a range.
pub(super) fn integer<'t, T: TryFrom<i128>>(
    range: RangeInclusive<i128>,
) -> impl Fn(&Field<'t>) -> Option<T> {
    move |field| {
        let expected = format!("an integer from {} to {}", range.start(), range.end());
        match field.node.item {
            Item::Integer(number) if range.contains(&number) => T::try_from(number).ok(),
            Item::Integer(number) => {
                field.fault(format!("expected {expected}, found {number}"));
                None
            }
            _ => {
                field.mistyped(&expected);
                None
            }
        }
    }
}

/// A number in a range, with or without a fraction.
pub(super) fn number<'t>(range: RangeInclusive<f64>) -> impl Fn(&Field<'t>) -> Option<f64> {
    move |field| {
        let expected = format!("a number from {} to {}", range.start(), range.end());
        let found = match field.node.item {
            Item::Float(number) => number,
            // Far below where a float would lose a digit, if it is in any range at all.
            Item::Integer(number) => number as f64,
            _ => {
                field.mistyped(&expected);
                return None;
            }
        };
        if !range.contains(&found) {
            field.fault(format!("expected {expected}, found {found}"));
            return None;
        }
        Some(found)
    }
}

/// On or off.
pub(super) fn boolean(field: &Field<'_>) -> Option<bool> {
    match field.node.item {
        Item::Boolean(on) => Some(on),
        _ => {
            field.mistyped("true or false");
            None
        }
    }
}

/// A string that `check` accepts; its error is what was expected, and the message repeats what was found.
pub(super) fn text<'t, T>(
    check: impl Fn(&str) -> Result<T, String>,
) -> impl Fn(&Field<'t>) -> Option<T> {
    move |field| {
        let text = field.text()?;
        check(text)
            .map_err(|expected| {
                field.fault(format!(
                    "expected {expected}, found \"{}\"",
                    printable(text)
                ));
            })
            .ok()
    }
}

/// As [`text`], for what is or may hold a secret: the message does not repeat it.
pub(super) fn private<'t, T>(
    check: impl Fn(&str) -> Result<T, String>,
) -> impl Fn(&Field<'t>) -> Option<T> {
    move |field| {
        check(field.text()?)
            .map_err(|expected| field.fault(format!("expected {expected}")))
            .ok()
    }
}

/// A list of so many entries, each of which `entry` accepts.
pub(super) fn list<'t, T>(
    length: RangeInclusive<usize>,
    entry: impl Fn(&Field<'t>) -> Option<T>,
) -> impl Fn(&Field<'t>) -> Option<Vec<T>> {
    move |field| {
        let Item::List(nodes) = &field.node.item else {
            field.mistyped("a list");
            return None;
        };
        if !length.contains(&nodes.len()) {
            let (least, most) = (length.start(), length.end());
            field.fault(format!(
                "expected a list of {least} to {most} entries, found {}",
                nodes.len()
            ));
            return None;
        }
        let read = |(index, node): (usize, &'t Node)| {
            entry(&Field {
                path: format!("{}[{index}]", field.path),
                node,
                context: field.context,
            })
        };
        // Every entry is read before the first faulty one ends the list, so that all their faults are noted.
        let entries: Vec<Option<T>> = nodes.iter().enumerate().map(read).collect();
        entries.into_iter().collect()
    }
}

/// A string that may be empty, which means "none"; else one that `check` accepts.
pub(super) fn or_empty<T>(
    check: impl Fn(&str) -> Result<T, String>,
) -> impl Fn(&str) -> Result<Option<T>, String> {
    move |text| match text {
        "" => Ok(None),
        text => check(text).map(Some),
    }
}

/// The text where it is fit, else what was expected.
pub(super) fn fitting(text: &str, is_fit: bool, expected: &str) -> Result<String, String> {
    match is_fit {
        true => Ok(text.to_owned()),
        false => Err(expected.to_owned()),
    }
}

/// A text that nothing can guess.
pub(super) fn random_text(text: &str) -> Result<Secret, String> {
    let is_fit = (32..=512).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
    let expected =
        "32 to 512 visible ASCII characters without spaces; make one with `openssl rand -hex 32`";
    fitting(text, is_fit, expected).map(Secret::new)
}

/// One of the words of a type, as it is serialized.
pub(super) fn word<T: DeserializeOwned>(expected: &str) -> impl Fn(&str) -> Result<T, String> {
    move |text| {
        let text: StrDeserializer<'_, serde::de::value::Error> = text.into_deserializer();
        T::deserialize(text).map_err(|_| expected.to_owned())
    }
}

/// The path of a file; see [`free_name`].
pub(super) fn path(text: &str) -> Result<PathBuf, String> {
    free_name(text).map(PathBuf::from)
}

/// What a model, checkpoint or file may be called.
pub(super) fn free_name(text: &str) -> Result<String, String> {
    let is_fit = text.len() <= 512 && text.trim() == text && !text.chars().any(char::is_control);
    fitting(
        text,
        is_fit,
        "a name of at most 512 bytes without spaces around it",
    )
}
