//! The errors of [`Config::load`](super::Config::load): each fault with its location.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// Further faults are only counted, so that a hostile file cannot flood the terminal.
pub(super) const MAX_FAULTS: usize = 100;

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
    pub(super) faults: Vec<Fault>,
    pub(super) omitted: usize,
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

/// Quotes a key or value in a message: escapes control characters and truncates it.
pub(super) fn printable(text: &str) -> String {
    let mut shown: String = text
        .chars()
        .take(MAX_QUOTED_CHARS)
        .flat_map(|c| {
            let escaped: Vec<char> = if c.is_control() {
                c.escape_default().collect()
            } else {
                vec![c]
            };
            escaped
        })
        .collect();
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
