//! The tree into which all layers are merged: values with their locations.

use std::collections::BTreeMap;
use std::sync::Arc;

use toml::de::{DeTable, DeValue};

use super::error::Location;

pub(super) type Tree = BTreeMap<String, Node>;

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub item: Item,
    pub location: Location,
    /// The text of an environment variable. A key of type string takes it without quotes.
    pub raw: Option<Arc<str>>,
}

#[derive(Clone, Debug)]
pub(super) enum Item {
    Text(String),
    Integer(i128),
    Float(f64),
    Boolean(bool),
    List(Vec<Node>),
    Table(Tree),
    /// A type that no key has, by its name with an article.
    Other(&'static str),
}

impl Item {
    /// The name of the type with an article, for "found ...".
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "a string",
            Self::Integer(_) => "an integer",
            Self::Float(_) => "a float",
            Self::Boolean(_) => "a boolean",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
            Self::Other(name) => name,
        }
    }
}

/// Turns a parsed document into a tree. `location` maps a byte offset to its location.
pub(super) fn tree_of(table: &DeTable<'_>, location: &dyn Fn(usize) -> Location) -> Tree {
    let node = |(key, value): (&toml::Spanned<_>, &toml::Spanned<_>)| {
        let key: &toml::Spanned<toml::de::DeString<'_>> = key;
        let value: &toml::Spanned<DeValue<'_>> = value;
        let node = Node {
            item: item_of(value.get_ref(), location),
            location: location(key.span().start),
            raw: None,
        };
        (key.get_ref().to_string(), node)
    };
    table.iter().map(node).collect()
}

/// Turns a parsed value into an item. The parser limits the depth of nesting.
pub(super) fn item_of(value: &DeValue<'_>, location: &dyn Fn(usize) -> Location) -> Item {
    match value {
        DeValue::String(text) => Item::Text(text.to_string()),
        DeValue::Integer(digits) => i128::from_str_radix(digits.as_str(), digits.radix())
            .map_or(Item::Other("an integer of too many digits"), Item::Integer),
        DeValue::Float(digits) => digits
            .as_str()
            .parse()
            .map_or(Item::Other("an invalid float"), Item::Float),
        DeValue::Boolean(on) => Item::Boolean(*on),
        DeValue::Datetime(_) => Item::Other("a date"),
        DeValue::Array(list) => Item::List(
            list.iter()
                .map(|value| Node {
                    item: item_of(value.get_ref(), location),
                    location: location(value.span().start),
                    raw: None,
                })
                .collect(),
        ),
        DeValue::Table(table) => Item::Table(tree_of(table, location)),
    }
}

/// Merges `over` into `base`: merges tables key by key and replaces all other values. Calls `refuse` with the dotted path of a
/// key whose value would replace a whole table.
pub(super) fn merge(
    base: &mut Tree,
    over: Tree,
    path: &str,
    refuse: &mut dyn FnMut(String, &Node),
) {
    for (key, node) in over {
        let here = join(path, &key);
        match base.get_mut(&key) {
            Some(Node {
                item: Item::Table(below),
                location,
                ..
            }) => match node {
                Node {
                    item: Item::Table(above),
                    location: nearer,
                    ..
                } => {
                    *location = nearer;
                    merge(below, above, &here, refuse);
                }
                other => refuse(here, &other),
            },
            _ => {
                base.insert(key, node);
            }
        }
    }
}

/// The dotted path of a key inside a table.
pub(super) fn join(path: &str, key: &str) -> String {
    let key = super::error::printable(key);
    if path.is_empty() {
        key
    } else {
        format!("{path}.{key}")
    }
}
