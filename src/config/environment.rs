//! The environment layer: maps Tintype's environment variables to configuration keys.

use std::collections::BTreeMap;

use toml::de::DeValue;

use super::error::Location;
use super::faults::Faults;
use super::node::{Item, Node, Tree, item_of, join};
use super::source;

pub(super) const PREFIX: &str = "TINTYPE__";

/// `TINTYPE__ADMIN__TOKEN` overrides it.
const ADMIN_TOKEN: &str = "TINTYPE_ADMIN_TOKEN";

/// `TINTYPE__CLUSTER__SECRET` overrides it.
const SECRET: &str = "TINTYPE_SECRET";

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

/// How to write a list or a table in an environment variable, for the message about a value that is none. Empty for other values.
pub(super) fn toml_hint(node: &Node, expected: &str) -> String {
    let Some(raw) = &node.raw else {
        return String::new();
    };
    let is_composed = ["a list", "a table"].contains(&expected);
    let looks_composed = raw.trim_start().starts_with(['[', '{']);
    let syntax = "lists and tables are written as in TOML: [\"a\", \"b\"], { a = \"b\" }";
    match (DeValue::parse(raw.trim()).err(), is_composed) {
        (Some(error), _) if looks_composed => {
            format!(
                "; it is not well-formed TOML ({}); {syntax}",
                error.message()
            )
        }
        (_, true) => format!("; in environment variables, {syntax}"),
        (_, false) => String::new(),
    }
}

/// One sentence for each variable that sets nothing, but has the name of a key with wrong underscores.
pub fn misspelt_variables(env: &[(String, String)]) -> Vec<String> {
    let built_in = source::built_in(&Faults::default());
    let mut paths = Vec::new();
    leaf_paths(&built_in, "", &mut paths);
    let known: BTreeMap<String, String> = paths
        .into_iter()
        .map(|path| {
            let variable = format!("{PREFIX}{}", path.replace('.', "__").to_ascii_uppercase());
            (variable.replace("__", "_"), variable)
        })
        .collect();
    let is_ignored =
        |name: &str| !name.starts_with(PREFIX) && ![ADMIN_TOKEN, SECRET].contains(&name);
    let names = env.iter().map(|(name, _)| name.as_str());
    let mut found: Vec<String> = names
        .filter(|name| name.starts_with("TINTYPE_") && is_ignored(name))
        .filter_map(|name| {
            let meant = known.get(&name.replace("__", "_").to_ascii_uppercase())?;
            Some(format!(
                "the environment variable {name} is ignored; did you mean {meant}?"
            ))
        })
        .collect();
    found.sort();
    found
}

/// The dotted paths of all keys that are not tables.
fn leaf_paths(tree: &Tree, path: &str, found: &mut Vec<String>) {
    for (key, node) in tree {
        let path = join(path, key);
        match &node.item {
            Item::Table(below) => leaf_paths(below, &path, found),
            _ => found.push(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_with_wrong_underscores_is_reported() {
        let variable = |name: &str| (name.to_owned(), "x".to_owned());
        let ours = [
            "TINTYPE_SERVER_PUBLIC_URL",
            "TINTYPE_SERVER__LISTEN",
            "TINTYPE_ADMIN_TOKEN",
            "TINTYPE_SECRET",
            "TINTYPE_KEY",
            "TINTYPE_URL",
            "TINTYPE_PUBLIC_URL",
            "TINTYPE__SERVER__LISTEN",
            "SERVER_LISTEN",
        ];
        assert_eq!(
            misspelt_variables(&ours.map(variable)),
            [
                "the environment variable TINTYPE_SERVER_PUBLIC_URL is ignored; did you mean TINTYPE__SERVER__PUBLIC_URL?",
                "the environment variable TINTYPE_SERVER__LISTEN is ignored; did you mean TINTYPE__SERVER__LISTEN?",
            ]
        );
    }

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
