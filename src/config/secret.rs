//! A text that is never shown: API keys, the operator's token, header values of back ends.

use std::fmt;

use serde::{Serialize, Serializer};

/// What stands for a secret wherever one would be shown.
pub const MASK: &str = "***";

/// A secret text. `Debug`, `Display` and `Serialize` show [`MASK`]; only [`Secret::expose`] gives the text itself.
///
/// Equality is there for comparing whole configurations and takes time that depends on the texts. A token that a
/// caller sends must be compared in constant time instead.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for the one place that sends or compares it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(MASK)
    }
}
