//! The tree that all layers are merged into: values with the place where each was written.

use std::collections::BTreeMap;
use std::sync::Arc;

use toml::de::{DeTable, DeValue};

use super::error::Place;

/// The keys of one table.
pub(super) type Tree = BTreeMap<String, Node>;

/// One value and where it was written.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub item: Item,
    pub place: Place,
    /// The text of an environment variable as it stands, which a key of type string takes without quotes.
    pub raw: Option<Arc<str>>,
}

/// A value, as far as a configuration key may want one.
#[derive(Clone, Debug)]
pub(super) enum Item {
    Text(String),
    Integer(i128),
    Float(f64),
    Boolean(bool),
    List(Vec<Node>),
    Table(Tree),
    /// A type that no key has; its name with the article, for the message.
    Other(&'static str),
}

impl Item {
    /// The type with its article, for "found ...".
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

/// Turns a parsed document into a tree. `place` gives the place of a byte offset.
pub(super) fn tree_of(table: &DeTable<'_>, place: &dyn Fn(usize) -> Place) -> Tree {
    let node = |(key, value): (&toml::Spanned<_>, &toml::Spanned<_>)| {
        let key: &toml::Spanned<toml::de::DeString<'_>> = key;
        let value: &toml::Spanned<DeValue<'_>> = value;
        let node = Node {
            item: item_of(value.get_ref(), place),
            place: place(key.span().start),
            raw: None,
        };
        (key.get_ref().to_string(), node)
    };
    table.iter().map(node).collect()
}

/// Turns a parsed value into an item. The parser bounds how deep one may be nested.
pub(super) fn item_of(value: &DeValue<'_>, place: &dyn Fn(usize) -> Place) -> Item {
    match value {
        DeValue::String(text) => Item::Text(text.to_string()),
        DeValue::Integer(digits) => i128::from_str_radix(digits.as_str(), digits.radix())
            .map_or(Item::Other("an integer of too many digits"), Item::Integer),
        DeValue::Float(digits) => digits
            .as_str()
            .parse()
            .map_or(Item::Other("a float that is none"), Item::Float),
        DeValue::Boolean(on) => Item::Boolean(*on),
        DeValue::Datetime(_) => Item::Other("a date"),
        DeValue::Array(list) => Item::List(
            list.iter()
                .map(|value| Node {
                    item: item_of(value.get_ref(), place),
                    place: place(value.span().start),
                    raw: None,
                })
                .collect(),
        ),
        DeValue::Table(table) => Item::Table(tree_of(table, place)),
    }
}

/// Turns the value of a flag into a node.
pub(super) fn node_of_flag(value: &toml::Value, place: &Place) -> Node {
    let item = match value {
        toml::Value::String(text) => Item::Text(text.clone()),
        toml::Value::Integer(number) => Item::Integer(i128::from(*number)),
        toml::Value::Float(number) => Item::Float(*number),
        toml::Value::Boolean(on) => Item::Boolean(*on),
        toml::Value::Datetime(_) => Item::Other("a date"),
        toml::Value::Array(list) => {
            Item::List(list.iter().map(|v| node_of_flag(v, place)).collect())
        }
        toml::Value::Table(table) => Item::Table(
            table
                .iter()
                .map(|(key, value)| (key.clone(), node_of_flag(value, place)))
                .collect(),
        ),
    };
    Node {
        item,
        place: place.clone(),
        raw: None,
    }
}

/// Lays `over` on top of `base`: tables are merged key by key, everything else is replaced. A value that would
/// replace a whole table is refused through `refuse`, with the dotted path of its key.
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
                place,
                ..
            }) => match node {
                Node {
                    item: Item::Table(above),
                    place: nearer,
                    ..
                } => {
                    *place = nearer;
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
