//! Reads typed values from the merged tree. Collects all faults instead of stopping at the first.
//!
//! The code that fills a struct reads the keys of its section one by one, and so defines which keys exist: a key that it does not
//! read is unknown.

use std::collections::{BTreeMap, BTreeSet};

use super::environment::toml_hint;
use super::error::{Faults, Location, printable};
use super::node::{Item, Node, Tree, join};
use tintype_api::fields::nearest;

pub(super) static EMPTY_TREE: Tree = Tree::new();

/// The context that all sections share while they are read.
pub(super) struct Context<'t> {
    pub built_in: &'t Tree,
    pub environment: &'t BTreeMap<String, String>,
    /// Are a missing API key of a used backend and other faults that only stop the service recorded?
    pub needs_keys: bool,
    pub faults: &'t Faults,
}

/// A table while it is read.
pub(super) struct Section<'t> {
    pub path: String,
    pub location: Location,
    tree: &'t Tree,
    known: BTreeSet<&'t str>,
    pub context: &'t Context<'t>,
}

/// A value while it is read.
pub(super) struct Field<'t> {
    pub path: String,
    pub node: &'t Node,
    pub context: &'t Context<'t>,
}

impl<'t> Section<'t> {
    pub fn root(tree: &'t Tree, context: &'t Context<'t>) -> Self {
        Self::new(String::new(), Location::BuiltIn, tree, context)
    }

    fn new(path: String, location: Location, tree: &'t Tree, context: &'t Context<'t>) -> Self {
        Self {
            path,
            location,
            tree,
            known: BTreeSet::new(),
            context,
        }
    }

    pub fn names(&self) -> impl Iterator<Item = &'t str> + use<'t> {
        self.tree.keys().map(String::as_str)
    }

    pub fn field(&mut self, key: &'t str) -> Option<Field<'t>> {
        self.known.insert(key);
        let node = self.tree.get(key)?;
        Some(Field {
            path: join(&self.path, key),
            node,
            context: self.context,
        })
    }

    /// Reads a key that may be absent. Records the fault of an invalid value and returns `None`.
    pub fn optional<T>(
        &mut self,
        key: &'t str,
        parse: impl Fn(&Field<'t>) -> Option<T>,
    ) -> Option<T> {
        parse(&self.field(key)?)
    }

    /// Reads a key that must be present. After a fault the returned default is never used, because the load fails.
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

    /// Opens a table in this one. A missing or invalid table reads as empty.
    pub fn section(&mut self, key: &'t str) -> Section<'t> {
        let found = self.field(key).and_then(|field| field.section());
        found.unwrap_or_else(|| {
            let (path, location) = (join(&self.path, key), self.location.clone());
            Self::new(path, location, &EMPTY_TREE, self.context)
        })
    }

    /// Records a fault of a key of this section, or of the section itself if `key` is empty.
    pub fn fault(&self, key: &str, message: String) {
        let path = if key.is_empty() {
            self.path.clone()
        } else {
            join(&self.path, key)
        };
        self.context
            .faults
            .push(self.location_of(key), &path, message);
    }

    /// Records that a key is missing although another one is set. The location is that of the other key.
    pub fn missing(&self, key: &str, because_of: &str, message: String) {
        let location = self.location_of(because_of);
        let path = join(&self.path, key);
        self.context.faults.push(location, &path, message);
    }

    /// The location of a key of this section, or of the section if the key is absent.
    pub fn location_of(&self, key: &str) -> &Location {
        self.tree
            .get(key)
            .map_or(&self.location, |node| &node.location)
    }

    /// Records a fault for every key that was not read.
    pub fn finish(self) {
        self.finish_with(|_| None);
    }

    /// As [`Section::finish`]. `message_for` may return a special message for a key.
    pub fn finish_with(self, message_for: impl Fn(&str) -> Option<String>) {
        for key in self.tree.keys() {
            if !self.known.contains(key.as_str()) {
                // A fault that is only counted needs no message, and building 100,000 of them takes time.
                let message = if self.context.faults.is_full() {
                    String::new()
                } else {
                    message_for(key).unwrap_or_else(|| self.unknown(key))
                };
                self.fault(key, message);
            }
        }
    }

    fn unknown(&self, key: &str) -> String {
        if let Some(meant) = nearest(key, self.known.iter().copied()) {
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
        let known: Vec<&str> = self.known.iter().copied().collect();
        format!("unknown key; expected one of: {}", known.join(", "))
    }
}

impl<'t> Field<'t> {
    pub fn fault(&self, message: String) {
        self.context
            .faults
            .push(&self.node.location, &self.path, message);
    }

    /// Records that the value has the wrong type.
    pub fn wrong_type(&self, expected: &str) {
        let found = self.node.item.kind();
        let hint = toml_hint(self.node, expected);
        self.fault(format!("expected {expected}, found {found}{hint}"));
    }

    /// The value as a string. In an environment variable it needs no quotes.
    pub fn text(&self) -> Option<&'t str> {
        match (&self.node.item, &self.node.raw) {
            (Item::Text(text), _) => Some(text),
            (_, Some(raw)) => Some(raw),
            _ => {
                self.wrong_type("a string in quotes");
                None
            }
        }
    }

    pub fn table(&self) -> Option<&'t Tree> {
        match &self.node.item {
            Item::Table(tree) => Some(tree),
            _ => {
                self.wrong_type("a table");
                None
            }
        }
    }

    pub fn section(&self) -> Option<Section<'t>> {
        let (path, location) = (self.path.clone(), self.node.location.clone());
        Some(Section::new(path, location, self.table()?, self.context))
    }
}
