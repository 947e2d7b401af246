//! What is wrong with a configuration, and where: the errors of [`Config::load`](super::Config::load).

use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// How many faults are kept; the rest is only counted, so that a hostile file cannot fill the terminal.
pub(super) const MAX_FAULTS: usize = 100;

/// How much of a key or value a message repeats, in characters.
const MAX_QUOTED_CHARS: usize = 60;

/// Where a value was written. The order of the variants is the order of the layers: a later one wins.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The `config.toml` that is compiled in as the defaults.
    BuiltIn,
    /// A configuration file; the line counts from 1, and is missing where the file as a whole is meant.
    File {
        /// The path as it was given.
        path: Arc<Path>,
        /// The line of the key.
        line: Option<usize>,
    },
    /// An environment variable, by name.
    Environment(Arc<str>),
    /// The command line; the dotted key that the flag sets.
    Flag(Arc<str>),
}

impl Place {
    /// The rank of the layer: 0 for the defaults, 3 for the command line.
    pub(super) fn layer(&self) -> u8 {
        match self {
            Self::BuiltIn => 0,
            Self::File { .. } => 1,
            Self::Environment(_) => 2,
            Self::Flag(_) => 3,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built-in defaults"),
            Self::File {
                path,
                line: Some(line),
            } => write!(f, "{}:{line}", path.display()),
            Self::File { path, line: None } => write!(f, "{}", path.display()),
            Self::Environment(name) => write!(f, "environment variable {}", printable(name)),
            Self::Flag(key) => write!(f, "command line, flag for {}", printable(key)),
        }
    }
}

/// One fault: where, which key, and what was expected. It never holds the value of a secret.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// Where the value was written.
    pub place: Place,
    /// The dotted path of the key (`tiers.fast.prices`); empty where no key is meant.
    pub key: String,
    /// What is wrong and what was expected.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.message)
    }
}

/// Every fault that was found, in the order of layers and lines.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text())]
pub struct ConfigErrors {
    pub(super) faults: Vec<Fault>,
    pub(super) omitted: usize,
}

impl ConfigErrors {
    /// The faults, at most a hundred.
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

/// A key or value as a message may repeat it: control characters escaped, and cut to a readable length.
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
    fn what_a_message_repeats_is_short_and_harmless() {
        assert_eq!(printable("a\u{1b}[31m\n"), "a\\u{1b}[31m\\n");
        assert_eq!(
            printable(&"k".repeat(1_000_000)).len(),
            MAX_QUOTED_CHARS + 3
        );
        assert_eq!(printable("größe"), "größe");
    }
}
