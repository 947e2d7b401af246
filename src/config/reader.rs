//! Reads typed values out of the merged tree, and collects every fault on the way instead of stopping at the first.
//!
//! A section is asked for its keys one by one; what nobody asked for is an unknown key. So the code that fills a
//! struct is at the same time the list of keys that exist.

use std::collections::{BTreeMap, BTreeSet};

use super::error::{Place, printable};
use super::faults::Faults;
use super::node::{Item, Node, Tree, join};
use super::suggest::nearest;

pub(super) static NO_KEYS: Tree = Tree::new();

/// What all sections share while they are read.
pub(super) struct Context<'t> {
    pub built_in: &'t Tree,
    pub environment: &'t BTreeMap<String, String>,
    /// Are back ends to be asked, so that a key that is not there is a fault?
    pub needs_keys: bool,
    pub faults: &'t Faults,
}

/// One table that is being read.
pub(super) struct Section<'t> {
    pub path: String,
    pub place: Place,
    tree: &'t Tree,
    asked: BTreeSet<&'t str>,
    pub context: &'t Context<'t>,
}

/// One value that is being read.
pub(super) struct Field<'t> {
    pub path: String,
    pub node: &'t Node,
    pub context: &'t Context<'t>,
}

impl<'t> Section<'t> {
    /// The whole tree.
    pub fn root(tree: &'t Tree, context: &'t Context<'t>) -> Self {
        Self {
            path: String::new(),
            place: Place::BuiltIn,
            tree,
            asked: BTreeSet::new(),
            context,
        }
    }

    /// The names of all keys of the table.
    pub fn names(&self) -> impl Iterator<Item = &'t str> + use<'t> {
        self.tree.keys().map(String::as_str)
    }

    /// A value, if the key is there.
    pub fn field(&mut self, key: &'t str) -> Option<Field<'t>> {
        self.asked.insert(key);
        let node = self.tree.get(key)?;
        Some(Field {
            path: join(&self.path, key),
            node,
            context: self.context,
        })
    }

    /// A key that may be absent. `None` is also what a faulty one gives, once its fault is noted.
    pub fn optional<T>(
        &mut self,
        key: &'t str,
        parse: impl Fn(&Field<'t>) -> Option<T>,
    ) -> Option<T> {
        parse(&self.field(key)?)
    }

    /// A key that must be there. The default that a fault gives is never used: the load fails.
    pub fn required<T: Default>(
        &mut self,
        key: &'t str,
        parse: impl Fn(&Field<'t>) -> Option<T>,
    ) -> T {
        match self.field(key) {
            Some(field) => parse(&field).unwrap_or_default(),
            None => {
                self.fault(key, "missing, but required".to_owned());
                T::default()
            }
        }
    }

    /// A table inside this one; an empty one where it is missing or no table.
    pub fn section(&mut self, key: &'t str) -> Section<'t> {
        let found = self
            .field(key)
            .and_then(|field| Some((field.table()?, field)));
        Section {
            path: join(&self.path, key),
            place: found
                .as_ref()
                .map_or_else(|| self.place.clone(), |(_, field)| field.node.place.clone()),
            tree: found.map_or(&NO_KEYS, |(tree, _)| tree),
            asked: BTreeSet::new(),
            context: self.context,
        }
    }

    /// Notes a fault about a key of this section, or about the section itself where `key` is empty.
    pub fn fault(&self, key: &str, message: String) {
        let path = if key.is_empty() {
            self.path.clone()
        } else {
            join(&self.path, key)
        };
        self.context.faults.push(self.place_of(key), &path, message);
    }

    /// Where a key of this section was written; where the section was, if the key is not there.
    pub fn place_of(&self, key: &str) -> &Place {
        self.tree.get(key).map_or(&self.place, |node| &node.place)
    }

    /// Notes every key that nobody asked for.
    pub fn finish(self) {
        self.finish_saying(|_| None);
    }

    /// As [`Section::finish`], with a message of its own for some keys.
    pub fn finish_saying(self, say: impl Fn(&str) -> Option<String>) {
        for key in self.tree.keys() {
            if !self.asked.contains(key.as_str()) {
                // Past the last fault that is kept no time is spent on a message.
                let message = if self.context.faults.full() {
                    String::new()
                } else {
                    say(key).unwrap_or_else(|| self.unknown(key))
                };
                self.fault(key, message);
            }
        }
    }

    fn unknown(&self, key: &str) -> String {
        if let Some(meant) = nearest(key, self.asked.iter().copied()) {
            return format!("unknown key; did you mean `{meant}`?");
        }
        let elsewhere = self.context.built_in.iter().find(
            |(_, node)| matches!(&node.item, Item::Table(section) if section.contains_key(key)),
        );
        if let Some((section, _)) = elsewhere {
            return format!(
                "unknown key here; `{}` belongs to [{section}]",
                printable(key)
            );
        }
        let known: Vec<&str> = self.asked.iter().copied().collect();
        format!("unknown key; expected one of: {}", known.join(", "))
    }
}

impl<'t> Field<'t> {
    /// Notes a fault about this value.
    pub fn fault(&self, message: String) {
        self.context
            .faults
            .push(&self.node.place, &self.path, message);
    }

    /// Notes that the value is of another type than a key wants.
    pub fn mistyped(&self, expected: &str) {
        let found = self.node.item.kind();
        let hint = match (&self.node.raw, expected.starts_with("a string")) {
            (Some(_), false) => {
                "; in the environment lists and tables are written as in TOML: [\"a\", \"b\"], { a = \"b\" }"
            }
            _ => "",
        };
        self.fault(format!("expected {expected}, found {found}{hint}"));
    }

    /// The value as a string. An environment variable needs no quotes around one.
    pub fn text(&self) -> Option<&'t str> {
        match (&self.node.item, &self.node.raw) {
            (Item::Text(text), _) => Some(text),
            (_, Some(raw)) => Some(raw),
            _ => {
                self.mistyped("a string in quotes");
                None
            }
        }
    }

    /// The value as a table.
    pub fn table(&self) -> Option<&'t Tree> {
        match &self.node.item {
            Item::Table(tree) => Some(tree),
            _ => {
                self.mistyped("a table");
                None
            }
        }
    }

    /// The value as a section of its own.
    pub fn section(&self) -> Option<Section<'t>> {
        Some(Section {
            path: self.path.clone(),
            place: self.node.place.clone(),
            tree: self.table()?,
            asked: BTreeSet::new(),
            context: self.context,
        })
    }
}
