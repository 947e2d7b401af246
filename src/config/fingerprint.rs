//! The fingerprint of a configuration: nodes with the same configuration have the same one.

use super::Config;
use sha2::{Digest, Sha256};

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
