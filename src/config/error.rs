//! The errors of [`Config::load`](super::Config::load): each fault with its location.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// Further faults are only counted, so that a hostile file cannot flood the terminal.
const MAX_FAULTS: usize = 100;

/// A message quotes at most this much of a key or value.
const MAX_QUOTED_CHARS: usize = 60;

/// Where a value was written. The variants are in the order of the layers: a later one wins.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Location {
    /// The compiled-in `config.toml` with the defaults.
    BuiltIn,
    File {
        path: Arc<Path>,
        /// The line of the key, from 1. `None`: the file as a whole.
        line: Option<usize>,
    },
    /// An environment variable, by name.
    Environment(Arc<str>),
    /// A flag of the command line, by the dotted key that it sets.
    Flag(Arc<str>),
}

impl Location {
    /// From 0 for the defaults to 3 for the command line.
    pub(super) fn layer(&self) -> u8 {
        match self {
            Self::BuiltIn => 0,
            Self::File { .. } => 1,
            Self::Environment(_) => 2,
            Self::Flag(_) => 3,
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built-in defaults"),
            Self::File {
                path,
                line: Some(line),
            } => write!(f, "{}:{line}", path.display()),
            Self::File { path, line: None } => write!(f, "{}", path.display()),
            Self::Environment(name) => write!(f, "environment variable {}", printable(name)),
            Self::Flag(key) => match option(key) {
                Some(option) => f.write_str(option),
                None => write!(f, "command line, flag for {}", printable(key)),
            },
        }
    }
}

/// The option of the command line that sets a key.
fn option(key: &str) -> Option<&'static str> {
    match key {
        "server.listen" => Some("--listen"),
        "storage.data_dir" => Some("--data-dir"),
        _ => None,
    }
}

/// A fault of one key. It never contains the value of a secret.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    pub location: Location,
    /// The dotted path of the key (`tiers.fast.prices`). Empty if the fault concerns no key.
    pub key: String,
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.location)?;
        // The name of an option says as much as its key.
        let is_option = matches!(&self.location, Location::Flag(key) if option(key).is_some());
        if !self.key.is_empty() && !is_option {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.message)
    }
}

/// All faults of a configuration, in the order of layers and lines.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text())]
pub struct ConfigErrors {
    faults: Vec<Fault>,
    omitted: usize,
}

impl ConfigErrors {
    /// At most the first hundred.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    fn text(&self) -> String {
        let lines: Vec<String> = self.faults.iter().map(|fault| fault.to_string()).collect();
        let mut text = format!("the configuration is not valid:\n  {}", lines.join("\n  "));
        if self.omitted > 0 {
            text.push_str(&format!("\n  and {} more", self.omitted));
        }
        text
    }
}

/// Collects faults while a configuration is read.
#[derive(Default)]
pub(super) struct Faults {
    list: RefCell<Vec<Fault>>,
    omitted: Cell<usize>,
    /// Locations that could not be parsed, or whose meaning depends on one. They take no further faults.
    broken: RefCell<BTreeSet<Location>>,
}

impl Faults {
    /// Records a fault, unless its location is broken and reported already.
    pub fn push(&self, location: &Location, key: &str, message: String) {
        if self.broken.borrow().contains(location) {
            return;
        }
        let mut list = self.list.borrow_mut();
        if list.len() < MAX_FAULTS {
            list.push(Fault {
                location: location.clone(),
                key: key.to_owned(),
                message,
            });
        } else {
            self.omitted.set(self.omitted.get() + 1);
        }
    }

    /// Records that a location could not be parsed or read. Returns whether this is its first fault: only that one counts.
    pub fn push_broken(&self, location: &Location, message: String) -> bool {
        self.push(location, "", message);
        self.broken.borrow_mut().insert(location.clone())
    }

    /// Ignores further faults of a location that depends on a broken one.
    pub fn mute(&self, location: Location) {
        self.broken.borrow_mut().insert(location);
    }

    /// Is a part of the input missing from the tree? Then the absence of a key proves nothing.
    pub fn is_incomplete(&self) -> bool {
        !self.broken.borrow().is_empty()
    }

    /// Has a key a fault already?
    pub fn contains(&self, key: &str) -> bool {
        self.list.borrow().iter().any(|it| it.key == key)
    }

    /// Are further faults only counted?
    pub fn is_full(&self) -> bool {
        self.list.borrow().len() >= MAX_FAULTS
    }

    pub fn into_result(self) -> Result<(), ConfigErrors> {
        let mut faults = self.list.into_inner();
        if faults.is_empty() {
            return Ok(());
        }
        faults.sort();
        faults.dedup();
        Err(ConfigErrors {
            faults,
            omitted: self.omitted.get(),
        })
    }
}

/// Quotes a key or value in a message: escapes control characters and truncates it.
pub(super) fn printable(text: &str) -> String {
    let escape = |c: char| match c.is_control() {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    };
    let mut shown: String = text.chars().take(MAX_QUOTED_CHARS).map(escape).collect();
    if text.chars().nth(MAX_QUOTED_CHARS).is_some() {
        shown.push_str("...");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_text_is_short_and_has_no_control_characters() {
        assert_eq!(printable("a\u{1b}[31m\n"), "a\\u{1b}[31m\\n");
        assert_eq!(
            printable(&"k".repeat(1_000_000)).len(),
            MAX_QUOTED_CHARS + 3
        );
        assert_eq!(printable("größe"), "größe");
    }
}
