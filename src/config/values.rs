//! Readers of values: each checks the type and the range of a value, and records its fault.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeOwned, IntoDeserializer};
use tintype_storage::webhook_wire::secret;

use super::error::printable;
use super::node::{Item, Node};
use super::reader::Field;
use super::secret::Secret;

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
                field.wrong_type(&expected);
                None
            }
        }
    }
}

/// Reads a float or an integer.
pub(super) fn number<'t>(range: RangeInclusive<f64>) -> impl Fn(&Field<'t>) -> Option<f64> {
    move |field| {
        let expected = format!("a number from {} to {}", range.start(), range.end());
        let found = match field.node.item {
            Item::Float(number) => number,
            // Integers in any range of the configuration are small enough for a float to be exact.
            Item::Integer(number) => number as f64,
            _ => {
                field.wrong_type(&expected);
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

pub(super) fn boolean(field: &Field<'_>) -> Option<bool> {
    match field.node.item {
        Item::Boolean(on) => Some(on),
        _ => {
            field.wrong_type("true or false");
            None
        }
    }
}

/// Reads a string that `check` accepts. The error of `check` says what was expected. The message quotes the value.
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

/// As [`text`], for values that may hold a secret: the message does not quote the value.
pub(super) fn redacted<'t, T>(
    check: impl Fn(&str) -> Result<T, String>,
) -> impl Fn(&Field<'t>) -> Option<T> {
    move |field| {
        check(field.text()?)
            .map_err(|expected| field.fault(format!("expected {expected}")))
            .ok()
    }
}

/// Reads a list whose entries `entry` accepts.
pub(super) fn list<'t, T>(
    length: RangeInclusive<usize>,
    entry: impl Fn(&Field<'t>) -> Option<T>,
) -> impl Fn(&Field<'t>) -> Option<Vec<T>> {
    move |field| {
        let Item::List(nodes) = &field.node.item else {
            field.wrong_type("a list");
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
        // Reads all entries before an invalid one ends the list, so that the faults of all are recorded.
        let entries: Vec<Option<T>> = nodes.iter().enumerate().map(read).collect();
        entries.into_iter().collect()
    }
}

/// Accepts an empty string, which means "none", or a string that `check` accepts.
pub(super) fn or_empty<T>(
    check: impl Fn(&str) -> Result<T, String>,
) -> impl Fn(&str) -> Result<Option<T>, String> {
    move |text| match text {
        "" => Ok(None),
        text => check(text).map(Some),
    }
}

/// Returns the text if it is valid, else what was expected.
pub(super) fn accept_if(text: &str, is_valid: bool, expected: &str) -> Result<String, String> {
    match is_valid {
        true => Ok(text.to_owned()),
        false => Err(expected.to_owned()),
    }
}

/// A token long enough to be unguessable.
pub fn random_text(text: &str) -> Result<Secret, String> {
    let is_valid = (32..=512).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
    let expected = format!(
        "32 to 512 visible ASCII characters without spaces, found {} characters; make one with `openssl rand -hex 32`",
        text.chars().count()
    );
    accept_if(text, is_valid, &expected).map(Secret::new)
}

/// A variant of an enum, by its serialized name.
pub(super) fn variant<T: DeserializeOwned>(expected: &str) -> impl Fn(&str) -> Result<T, String> {
    move |text| {
        let text: StrDeserializer<'_, serde::de::value::Error> = text.into_deserializer();
        T::deserialize(text).map_err(|_| expected.to_owned())
    }
}

pub(super) fn path(text: &str) -> Result<PathBuf, String> {
    free_name(text).map(PathBuf::from)
}

/// The name of a model, a checkpoint or a file.
pub(super) fn free_name(text: &str) -> Result<String, String> {
    let is_valid = text.len() <= 512 && text.trim() == text && !text.chars().any(char::is_control);
    accept_if(
        text,
        is_valid,
        "a name of at most 512 bytes without spaces around it",
    )
}

pub(super) fn directory(text: &str) -> Result<PathBuf, String> {
    match text.is_empty() || text.contains('\0') {
        true => Err("the path of a directory".to_owned()),
        false => Ok(PathBuf::from(text)),
    }
}

pub(super) const WEBHOOK_SECRET: &str = "whsec_ and 44 characters of base64 (32 bytes); make one with \
                                         `echo whsec_$(openssl rand -base64 32)`";

pub(super) fn webhook_secret(text: &str) -> Result<Secret, String> {
    let secret = secret::WebhookSecret::parse(text).map_err(|_| WEBHOOK_SECRET.to_owned())?;
    Ok(Secret::new(secret.text()))
}
