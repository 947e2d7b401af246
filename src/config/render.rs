//! Renders the effective configuration as TOML, for `check-config`, and as a fingerprint: nodes with the same configuration have the
//! same one.

use std::fmt::Display;

use serde::Serializer;
use sha2::{Digest, Sha256};

use super::Config;

/// Keys that may differ between nodes: listen addresses, use of the machine, logs, and the node's way to the shared database.
const PER_NODE_KEYS: [(&str, &str); 9] = [
    ("server", "listen"),
    ("server", "metrics_listen"),
    ("server", "workers"),
    ("storage", "data_dir"),
    ("storage", "url"),
    ("storage", "cache_bytes"),
    ("storage", "connections"),
    ("log", "filter"),
    ("log", "format"),
];

impl Config {
    /// The effective configuration as TOML: every key, secrets masked.
    pub fn render(&self) -> String {
        // Plain structs always serialize. If one ever does not, the reason is better than a panic.
        let body = toml::to_string(self).unwrap_or_else(|error| format!("# {error}\n"));
        format!("# The effective configuration. Secrets show as \"***\".\n\n{body}")
    }

    /// A fingerprint of the settings that all nodes should share. Of a secret only its presence counts, so the fingerprint reveals
    /// nothing about it.
    pub fn fingerprint(&self) -> String {
        // Plain structs always serialize.
        let mut common = toml::Table::try_from(self).unwrap_or_default();
        for (section, key) in PER_NODE_KEYS {
            let section = common.get_mut(section).and_then(toml::Value::as_table_mut);
            section.map(|it| it.remove(key));
        }
        let digest = Sha256::digest(common.to_string());
        hex::encode(&digest[..6])
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
