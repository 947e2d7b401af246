//! The effective configuration as TOML, as `check-config` prints it: every key, secrets masked.

use std::fmt::Display;

use serde::Serializer;

use super::Config;

impl Config {
    /// The effective configuration as TOML. Secrets show as `***`.
    pub fn render(&self) -> String {
        // Serializing plain structs into a string does not fail; were it to, the reason is the better answer.
        let body = toml::to_string(self).unwrap_or_else(|error| format!("# {error}\n"));
        format!("# The effective configuration. Secrets show as \"***\".\n\n{body}")
    }
}

/// Serializes what may be absent as the empty string that stands for that in the file.
pub(super) fn or_blank<T: Display, S: Serializer>(
    value: &Option<T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => serializer.collect_str(value),
        None => serializer.serialize_str(""),
    }
}

/// Serializes a list through `Display`.
pub(super) fn as_strings<T: Display, S: Serializer>(
    values: &[T],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(values.iter().map(|value| value.to_string()))
}
