//! Environment variables that set nothing, although their names show what they should set.

use std::collections::BTreeMap;

use super::environment::{PREFIX, is_short};
use super::error::Faults;
use super::node::{Item, Tree, join};
use super::source;

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
    let is_ignored = |name: &str| !name.starts_with(PREFIX) && !is_short(name);
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
}
