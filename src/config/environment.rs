//! The environment layer: maps Tintype's environment variables to configuration keys.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;

use toml::de::DeValue;

use super::error::Location;
use super::node::{Item, Node, item_of};

pub(super) const PREFIX: &str = "TINTYPE__";

/// Variables that set a key under a short name, and its path. The long name, such as `TINTYPE__ADMIN__TOKEN`, overrides them. `RUST_LOG`
/// is the usual log filter of Rust programs.
pub(super) const SHORT_NAMES: [(&str, [&str; 2]); 5] = [
    ("TINTYPE_ADMIN_TOKEN", ["admin", "token"]),
    ("TINTYPE_ADMIN_TOKEN_FILE", ["admin", "token_file"]),
    ("TINTYPE_SECRET", ["cluster", "secret"]),
    ("TINTYPE_SECRET_FILE", ["cluster", "secret_file"]),
    ("RUST_LOG", ["log", "filter"]),
];

/// Keys of secrets. A variable with `_FILE` after the name of such a key names a file that contains the value, as containers and systemd
/// pass secrets.
const SECRET_KEYS: [&str; 4] = ["api_key", "secret", "token", "webhook_secret"];
/// Tables in which every value counts as a secret.
const SECRET_TABLE: &str = "headers";
/// Also of the variables that `api_key_env` names.
pub(super) const FILE_SUFFIX: &str = "_FILE";
/// A longer file is none with a secret.
const MAX_SECRET_BYTES: u64 = 64 * 1024;

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
    let short: BTreeMap<&str, &str> = env
        .iter()
        .filter(|(name, value)| is_short(name) && !value.is_empty())
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    short.into_iter().chain(ours).collect()
}

/// Splits the name of a variable into the keys of a path. `None` if the name is malformed.
pub(super) fn keys_of(name: &str) -> Option<Vec<String>> {
    if let Some((_, keys)) = SHORT_NAMES.iter().find(|(short, _)| *short == name) {
        return Some(keys.map(str::to_owned).to_vec());
    }
    let keys: Vec<String> = name
        .strip_prefix(PREFIX)?
        .split("__")
        .map(str::to_ascii_lowercase)
        .collect();
    let has_no_gap = keys.iter().all(|key| !key.is_empty());
    (has_no_gap && keys.len() <= MAX_SEGMENTS).then_some(keys)
}

pub(super) fn is_short(name: &str) -> bool {
    SHORT_NAMES.iter().any(|(short, _)| *short == name)
}

/// The value of a variable for these keys, which lose the suffix of a variable that names a file.
///
/// # Errors
/// The file cannot be used.
pub(super) fn value_of(
    keys: &mut [String],
    raw: &str,
    location: &Location,
) -> Result<Item, String> {
    let secret = match keys {
        [.., table, key] => {
            let name = key.strip_suffix("_file");
            let name = name.filter(|it| SECRET_KEYS.contains(it) || table == SECRET_TABLE);
            name.map(str::to_owned).map(|name| *key = name)
        }
        _ => None,
    };
    match secret {
        Some(()) => secret_in(raw).map(Item::Text),
        None => Ok(parse_value(raw, location)),
    }
}

/// The content of a file, without the line break at its end.
///
/// # Errors
/// The file cannot be read, is empty or has more than 64 KiB. The message does not repeat the name: a user who confuses the two
/// variables writes the secret itself here.
pub(super) fn secret_in(file: &str) -> Result<String, String> {
    let mut text = String::new();
    let read =
        File::open(file).and_then(|it| it.take(MAX_SECRET_BYTES + 1).read_to_string(&mut text));
    let length = read.map_err(|error| format!("cannot read the file that it names: {error}"))?;
    let end = text.trim_end_matches(['\n', '\r']).len();
    text.truncate(end);
    match length as u64 {
        0..=MAX_SECRET_BYTES if end > 0 => Ok(text),
        0..=MAX_SECRET_BYTES => Err("the file that it names is empty".to_owned()),
        _ => {
            Err("the file that it names has more than 64 KiB, so it contains no secret".to_owned())
        }
    }
}

/// Parses a value as TOML, or else takes it as a string.
pub(super) fn parse_value(text: &str, location: &Location) -> Item {
    match DeValue::parse(text.trim()) {
        Ok(value) => item_of(value.get_ref(), &|_| location.clone()),
        Err(_) => Item::Text(text.to_owned()),
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
