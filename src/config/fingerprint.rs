//! A short text that is the same for all nodes that are configured alike.

use super::Config;
use sha2::{Digest, Sha256};

/// What may differ from node to node: where it listens, how it uses its machine, and what it logs.
const OWN: [(&str, &str); 8] = [
    ("server", "listen"),
    ("server", "metrics_listen"),
    ("server", "workers"),
    ("storage", "data_dir"),
    ("storage", "cache_bytes"),
    ("storage", "connections"),
    ("log", "filter"),
    ("log", "format"),
];

impl Config {
    /// The fingerprint of what all nodes should have in common. Secrets count only as being there or not, so it tells nothing of
    /// them.
    pub fn fingerprint(&self) -> String {
        // Plain structs always serialize.
        let mut common = toml::Table::try_from(self).unwrap_or_default();
        for (section, key) in OWN {
            let section = common.get_mut(section).and_then(toml::Value::as_table_mut);
            section.map(|it| it.remove(key));
        }
        let digest = Sha256::digest(common.to_string());
        hex::encode(&digest[..6])
    }
}
