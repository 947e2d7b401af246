//! The environment layer: maps Tintype's environment variables to configuration keys.

use std::collections::BTreeMap;

use toml::de::DeValue;

use super::error::Location;
use super::node::{Item, Node, item_of};

pub(super) const PREFIX: &str = "TINTYPE__";

/// `TINTYPE__ADMIN__TOKEN` overrides it.
pub(super) const ADMIN_TOKEN: &str = "TINTYPE_ADMIN_TOKEN";

/// `TINTYPE__CLUSTER__SECRET` overrides it.
pub(super) const SECRET: &str = "TINTYPE_SECRET";

/// The usual log filter of Rust programs. `TINTYPE__LOG__FILTER` overrides it.
const RUST_LOG: &str = "RUST_LOG";

/// The deepest key, `tiers.fast.prices.1K`, has four segments.
pub(super) const MAX_SEGMENTS: usize = 8;

/// Returns Tintype's variables in a fixed order, so that the result does not depend on the order of the environment: the short
/// names first, then sorted by name, which puts a table before its keys. An empty short name counts as unset: Compose files and
/// unit files pass unset variables as empty, and that must not clear the value in the file.
pub(super) fn variables(env: &[(String, String)]) -> Vec<(&str, &str)> {
    let ours: BTreeMap<&str, &str> = env
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .filter(|(name, _)| name.starts_with(PREFIX))
        .collect();
    let short = env
        .iter()
        .filter(|(name, value)| {
            [ADMIN_TOKEN, RUST_LOG, SECRET].contains(&name.as_str()) && !value.is_empty()
        })
        .map(|(name, value)| (name.as_str(), value.as_str()));
    short.chain(ours).collect()
}

/// Splits the name of a variable into the keys of a path. `None` if the name is malformed.
pub(super) fn keys_of(name: &str) -> Option<Vec<String>> {
    if name == ADMIN_TOKEN {
        return Some(vec!["admin".to_owned(), "token".to_owned()]);
    }
    if name == SECRET {
        return Some(vec!["cluster".to_owned(), "secret".to_owned()]);
    }
    if name == RUST_LOG {
        return Some(vec!["log".to_owned(), "filter".to_owned()]);
    }
    let keys: Vec<String> = name
        .strip_prefix(PREFIX)?
        .split("__")
        .map(str::to_ascii_lowercase)
        .collect();
    let has_no_gap = keys.iter().all(|key| !key.is_empty());
    (has_no_gap && keys.len() <= MAX_SEGMENTS).then_some(keys)
}

/// Parses the value of a variable as TOML, or else takes it as a string.
pub(super) fn variable(raw: &str, location: &Location) -> Node {
    let item = match DeValue::parse(raw.trim()) {
        Ok(value) => item_of(value.get_ref(), &|_| location.clone()),
        Err(_) => Item::Text(raw.to_owned()),
    };
    Node {
        item,
        location: location.clone(),
        raw: Some(raw.into()),
    }
}

const SYNTAX: &str = "lists and tables are written as in TOML: [\"a\", \"b\"], { a = \"b\" }";

/// How to write a list or a table in an environment variable, for the message about a value that is none. Empty for other values.
pub(super) fn toml_hint(node: &Node, expected: &str) -> String {
    let is_composed = ["a list", "a table"].contains(&expected);
    match (malformed_hint(node), &node.raw) {
        (hint, Some(_)) if hint.is_empty() && is_composed => {
            format!("; in environment variables, {SYNTAX}")
        }
        (hint, _) => hint,
    }
}

/// Why the value of a variable that begins like a list or a table is none. Empty for other values.
pub(super) fn malformed_hint(node: &Node) -> String {
    let raw = node.raw.as_deref().unwrap_or_default().trim();
    match DeValue::parse(raw) {
        Err(error) if raw.starts_with(['[', '{']) => {
            let reason = error.message();
            format!("; it is not well-formed TOML ({reason}); {SYNTAX}")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_variables_become_keys() {
        let keys = |name: &str| keys_of(name).map(|keys| keys.join("."));
        assert_eq!(
            keys("TINTYPE__SERVER__LISTEN").as_deref(),
            Some("server.listen")
        );
        assert_eq!(
            keys("TINTYPE__server__listen").as_deref(),
            Some("server.listen")
        );
        assert_eq!(keys("TINTYPE_ADMIN_TOKEN").as_deref(), Some("admin.token"));
        assert_eq!(keys("RUST_LOG").as_deref(), Some("log.filter"));
        assert_eq!(keys("TINTYPE__SERVER____LISTEN"), None);
        assert_eq!(keys("TINTYPE__"), None);
        assert_eq!(keys(&format!("TINTYPE__{}", "A__".repeat(100_000))), None);
    }
}
