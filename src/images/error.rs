//! Errors of the object store, worded for the operator.

use std::io;
use std::path::PathBuf;

/// The log target for object store errors in calls. The log limits its rate.
pub const FAULT_TARGET: &str = "tintype::object_store";

/// An error of the object store, of its configuration or of the signing key.
///
/// No message holds a secret: `value` and `place` are store addresses without credentials, and keys
/// never appear.
#[derive(Debug, thiserror::Error)]
pub enum ImagesError {
    #[error("storage.objects = \"{value}\": {reason}")]
    Setting { value: String, reason: String },
    #[error("storage.objects = \"{value}\" needs the environment variable {variable}: {reason}")]
    MissingVariable {
        value: String,
        variable: &'static str,
        reason: &'static str,
    },
    #[error("{action} {}: {source}", path.display())]
    Files {
        /// A verb with its object, such as "cannot open".
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("the file signing key {}: {reason}", path.display())]
    SigningKey { path: PathBuf, reason: String },
    #[error("{key:?} cannot name an object: {reason}")]
    InvalidKey { key: String, reason: &'static str },
    #[error("the object store ({place}) has no object {key:?}")]
    NotFound { place: String, key: String },
    #[error(
        "storage.objects = \"{place}\": there is no such bucket or container; create it or correct the name"
    )]
    MissingBucket { place: String },
    /// The requested URL lifetime exceeds the store's limit. Both are in seconds.
    #[error(
        "results.url_lifetime_seconds = {asked}: the store at {place} signs addresses for at most {longest} seconds"
    )]
    Lifetime {
        place: String,
        asked: u64,
        longest: u64,
    },
    /// The store refused, failed or did not answer.
    #[error("the object store ({place}) failed while {action}: {detail}")]
    Store {
        place: String,
        /// A participle with the object's key, such as "writing".
        action: String,
        /// The message of the store or connection, shortened.
        detail: String,
    },
}

impl ImagesError {
    /// Is the local disk or quota full?
    pub fn is_full(&self) -> bool {
        use io::ErrorKind::{QuotaExceeded, StorageFull};
        matches!(self, Self::Files { source, .. } if matches!(source.kind(), StorageFull | QuotaExceeded))
    }
}

const MAX_DETAIL_BYTES: usize = 400;

/// Shortens a store's message, which may be a whole page, to one line.
pub(super) fn shorten(text: &str) -> String {
    let mut line = String::with_capacity(text.len().min(MAX_DETAIL_BYTES));
    for word in text.split_whitespace() {
        if line.len() + word.len() > MAX_DETAIL_BYTES {
            line.push_str(" ...");
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_answer_becomes_one_short_line() {
        let page = "an error\n".repeat(1_000);
        let line = shorten(&page);
        assert!(line.len() <= MAX_DETAIL_BYTES + 4);
        assert!(line.starts_with("an error an error"));
        assert!(line.ends_with(" ..."));
        assert!(!line.contains('\n'));
    }
}
