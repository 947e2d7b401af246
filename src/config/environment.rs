//! The environment as a layer: which variables are ours, which keys they mean and what they hold.

use std::collections::BTreeMap;

use toml::de::DeValue;

use super::error::Place;
use super::node::{Item, Node, item_of};

/// What the name of an environment variable of ours begins with.
pub(super) const PREFIX: &str = "TINTYPE__";

/// The short name for `TINTYPE__ADMIN__TOKEN`, which goes first where both are set.
const ADMIN_TOKEN: &str = "TINTYPE_ADMIN_TOKEN";

/// The short name for `TINTYPE__CLUSTER__SECRET`, which goes first where both are set.
const SECRET: &str = "TINTYPE_SECRET";

/// The name under which Rust programs take what they log; goes below `TINTYPE__LOG__FILTER`.
const RUST_LOG: &str = "RUST_LOG";

/// How deep a key can lie (`tiers.fast.prices.1K`), with room to spare.
pub(super) const MAX_SEGMENTS: usize = 8;

/// Our variables in an order of their own, so that the outcome does not depend on that of the environment: the short
/// names first, then by name, which puts a table before the keys inside it. An empty one of the short names is none: that is
/// what Compose files and unit files make of a variable that nobody has set, and it must not blank the file's.
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

/// The keys that a name of ours leads through, `None` where it has no such form.
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
    let named = keys.iter().all(|key| !key.is_empty());
    (named && keys.len() <= MAX_SEGMENTS).then_some(keys)
}

/// What a variable holds: TOML where it is that, else the text as it stands.
pub(super) fn variable(raw: &str, place: &Place) -> Node {
    let item = match DeValue::parse(raw.trim()) {
        Ok(value) => item_of(value.get_ref(), &|_| place.clone()),
        Err(_) => Item::Text(raw.to_owned()),
    };
    Node {
        item,
        place: place.clone(),
        raw: Some(raw.into()),
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
