//! A secret that is never displayed: API keys, the operator's token, header values of backends.

use std::fmt;

use serde::{Serialize, Serializer};

/// Displayed instead of a secret.
pub const MASK: &str = "***";

/// A secret. `Debug`, `Display` and `Serialize` show [`MASK`]; only [`Secret::expose`] returns the text.
///
/// `==` serves to compare whole configurations and is not constant-time. Compare a token from a caller in constant time.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, for the code that sends or compares it.
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
