//! The sources of a configuration, and their merge into one tree: compiled-in defaults, file, environment, command line.

use std::path::PathBuf;

use super::environment::{
    MAX_SEGMENTS, PREFIX, keys_of, malformed_hint, parse_value, value_of, variables,
};
use super::error::{Faults, Location};
use super::file::{parse, read_file};
use super::node::{Item, Node, Tree, merge};
use super::reader::EMPTY_TREE;

/// The defaults, which are also the manual.
pub const DEFAULT_TOML: &str = include_str!("../../config.toml");

/// The sources of a configuration besides the defaults.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The file that the user named. It must exist.
    pub file: Option<PathBuf>,
    /// The file to read if the user named none. It need not exist.
    pub default_file: Option<PathBuf>,
    /// The whole environment, since `api_key_env` may name any variable.
    pub env: Vec<(String, String)>,
    /// Dotted keys and values from the command line. The last value of a key wins.
    pub flags: Vec<(String, toml::Value)>,
}

impl Sources {
    /// The environment of this process. Text that is not Unicode gets replacement characters, where `std::env::vars` would panic.
    pub fn process_environment() -> Vec<(String, String)> {
        std::env::vars_os()
            .map(|(name, value)| {
                let text = |os: std::ffi::OsString| os.to_string_lossy().into_owned();
                (text(name), text(value))
            })
            .collect()
    }
}

pub(super) fn built_in(faults: &Faults) -> Tree {
    parse(DEFAULT_TOML, &|_| Location::BuiltIn, faults)
}

/// Merges all other layers over the defaults.
pub(super) fn merge_layers(built_in: &Tree, sources: &Sources, faults: &Faults) -> Tree {
    let mut tree = built_in.clone();
    let mut refuse = |path: String, node: &Node| {
        let hint = malformed_hint(node);
        let message = format!("expected a table, found {}{hint}", node.item.kind());
        faults.push(&node.location, &path, message);
    };
    let (named, default) = (sources.file.as_deref(), sources.default_file.as_deref());
    if let Some(file) = read_file(named, default, faults) {
        merge(&mut tree, file, "", &mut refuse);
    }
    for (name, raw) in variables(&sources.env) {
        let location = Location::Environment(name.into());
        let Some(mut keys) = keys_of(name) else {
            faults.push(
                &location,
                "",
                format!("expected a name such as {PREFIX}SERVER__LISTEN (section, key)"),
            );
            continue;
        };
        let item = match value_of(&mut keys, raw, &location) {
            Ok(item) => item,
            Err(message) => {
                faults.push(&location, "", message);
                continue;
            }
        };
        let layer = nest(
            &tree,
            &keys,
            Node {
                item,
                location,
                raw: Some(raw.into()),
            },
        );
        merge(&mut tree, layer, "", &mut refuse);
    }
    for (dotted, value) in &sources.flags {
        let location = Location::Flag(dotted.as_str().into());
        let keys: Vec<String> = dotted.split('.').map(str::to_owned).collect();
        if keys.len() > MAX_SEGMENTS {
            faults.push(&location, "", "unknown key".to_owned());
            continue;
        }
        let layer = nest(
            &tree,
            &keys,
            Node {
                item: parse_value(&value.to_string(), &location),
                location,
                raw: None,
            },
        );
        merge(&mut tree, layer, "", &mut refuse);
    }
    tree
}

/// Do two keys differ only in case and in `-` for `_`?
fn is_same_key(a: &str, b: &str) -> bool {
    let normalize = |key: &str| key.to_ascii_lowercase().replace('-', "_");
    normalize(a) == normalize(b)
}

/// Wraps a value in the tables of its path. Uses the tree's spelling of a key that differs only in case or in `-` for `_`: names
/// of environment variables cannot express these.
fn nest(tree: &Tree, keys: &[String], value: Node) -> Tree {
    let Some((key, rest)) = keys.split_first() else {
        return Tree::new();
    };
    let known = match tree.get_key_value(key) {
        Some(known) => Some(known),
        None => tree.iter().find(|(other, _)| is_same_key(other, key)),
    };
    let name = known.map_or(key, |(name, _)| name).clone();
    if rest.is_empty() {
        return Tree::from([(name, value)]);
    }
    let below = match known.map(|(_, node)| &node.item) {
        Some(Item::Table(below)) => below,
        _ => &EMPTY_TREE,
    };
    let location = value.location.clone();
    let table = Node {
        item: Item::Table(nest(below, rest, value)),
        location,
        raw: None,
    };
    Tree::from([(name, table)])
}
