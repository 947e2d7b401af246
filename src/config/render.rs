//! Renders the effective configuration as TOML, for `check-config`.

use std::fmt::Display;

use serde::Serializer;

use super::Config;

impl Config {
    /// The effective configuration as TOML: every key, secrets masked.
    pub fn render(&self) -> String {
        // Plain structs always serialize. If one ever does not, the reason is better than a panic.
        let body = toml::to_string(self).unwrap_or_else(|error| format!("# {error}\n"));
        format!("# The effective configuration. Secrets show as \"***\".\n\n{body}")
    }
}

/// Serializes `None` as the empty string, which means "none" in the file.
pub(super) fn or_blank<T: Display, S: Serializer>(
    value: &Option<T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => serializer.collect_str(value),
        None => serializer.serialize_str(""),
    }
}

pub(super) fn as_strings<T: Display, S: Serializer>(
    values: &[T],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(values.iter().map(|value| value.to_string()))
}
