//! Where a configuration comes from, and how the layers become one tree: the compiled-in defaults, a file, the
//! environment, the command line.

use std::path::PathBuf;

use super::environment::{MAX_SEGMENTS, PREFIX, keys_of, variable, variables};
use super::error::Place;
use super::faults::Faults;
use super::file::{parse, read_file};
use super::node::{Item, Node, Tree, merge, node_of_flag};
use super::reader::NO_KEYS;
use super::suggest::same_but_for_spelling;

/// The defaults, which are at the same time the manual.
pub const DEFAULT_TOML: &str = include_str!("../../config.toml");

/// Everything that a configuration is made from, besides the defaults.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The file that the user named. It must be there.
    pub file: Option<PathBuf>,
    /// The file that is read when none was named, and only if it is there.
    pub default_file: Option<PathBuf>,
    /// The whole environment: also what `api_key_env` refers to.
    pub env: Vec<(String, String)>,
    /// Dotted keys and their values from the command line; the last of a key wins.
    pub flags: Vec<(String, toml::Value)>,
}

impl Sources {
    /// The environment of this process. What is not Unicode is passed on with replacement characters, rather than
    /// ending the process as `std::env::vars` does.
    pub fn process_environment() -> Vec<(String, String)> {
        std::env::vars_os()
            .map(|(name, value)| {
                let text = |os: std::ffi::OsString| os.to_string_lossy().into_owned();
                (text(name), text(value))
            })
            .collect()
    }
}

/// Parses the compiled-in defaults.
pub(super) fn built_in(faults: &Faults) -> Tree {
    parse(DEFAULT_TOML, &|_| Place::BuiltIn, faults)
}

/// Lays every other layer on top of the defaults.
pub(super) fn layered(built_in: &Tree, sources: &Sources, faults: &Faults) -> Tree {
    let mut tree = built_in.clone();
    let mut refuse = |path: String, node: &Node| {
        let message = format!("expected a table, found {}", node.item.kind());
        faults.push(&node.place, &path, message);
    };
    let (named, default) = (sources.file.as_deref(), sources.default_file.as_deref());
    if let Some(file) = read_file(named, default, faults) {
        merge(&mut tree, file, "", &mut refuse);
    }
    for (name, raw) in variables(&sources.env) {
        let place = Place::Environment(name.into());
        let Some(keys) = keys_of(name) else {
            faults.push(
                &place,
                "",
                format!("expected a name such as {PREFIX}SERVER__LISTEN (section, key)"),
            );
            continue;
        };
        let layer = nested(&tree, &keys, variable(raw, &place));
        merge(&mut tree, layer, "", &mut refuse);
    }
    for (dotted, value) in &sources.flags {
        let place = Place::Flag(dotted.as_str().into());
        let keys: Vec<String> = dotted.split('.').map(str::to_owned).collect();
        if keys.len() > MAX_SEGMENTS {
            faults.push(&place, "", "unknown key".to_owned());
            continue;
        }
        let layer = nested(&tree, &keys, node_of_flag(value, &place));
        merge(&mut tree, layer, "", &mut refuse);
    }
    tree
}

/// Wraps a value into the tables that lead to it. A key that the tree has in another spelling (upper case, `-` for
/// `_`) is taken as the tree spells it: the names of environment variables have neither.
fn nested(tree: &Tree, keys: &[String], value: Node) -> Tree {
    let Some((key, rest)) = keys.split_first() else {
        return Tree::new();
    };
    let known = match tree.get_key_value(key) {
        Some(known) => Some(known),
        None => tree
            .iter()
            .find(|(other, _)| same_but_for_spelling(other, key)),
    };
    let name = known.map_or(key, |(name, _)| name).clone();
    if rest.is_empty() {
        return Tree::from([(name, value)]);
    }
    let below = match known.map(|(_, node)| &node.item) {
        Some(Item::Table(below)) => below,
        _ => &NO_KEYS,
    };
    let place = value.place.clone();
    let table = Node {
        item: Item::Table(nested(below, rest, value)),
        place,
        raw: None,
    };
    Tree::from([(name, table)])
}
