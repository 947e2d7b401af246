//! What can go wrong with the object store, said so that an operator knows where to look.

use std::io;
use std::path::PathBuf;

/// The target of log lines about faults of the object store that a call has met. The log bounds them.
pub const FAULT_TARGET: &str = "tintype::object_store";

/// A fault of the object store, of its configuration or of the key that signs local addresses.
///
/// No message holds a secret: addresses are shown without user names and passwords, keys never.
#[derive(Debug, thiserror::Error)]
pub enum ImagesError {
    /// The value of `storage.objects` cannot be used as it stands.
    #[error("storage.objects = \"{value}\": {reason}")]
    Setting {
        /// The configured value, without credentials.
        value: String,
        /// What is wrong and what to write instead.
        reason: String,
    },
    /// The chosen store needs an environment variable that is not set.
    #[error("storage.objects = \"{value}\" needs the environment variable {variable}: {reason}")]
    MissingVariable {
        /// The configured value, without credentials.
        value: String,
        /// The variable's name.
        variable: &'static str,
        /// Why it is needed.
        reason: &'static str,
    },
    /// A directory or file of the data directory could not be made or read.
    #[error("{action} {}: {source}", path.display())]
    Files {
        /// What was tried, as a verb with its object.
        action: &'static str,
        /// Where.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The file that holds the signing key is not what it has to be.
    #[error("the file signing key {}: {reason}", path.display())]
    SigningKey {
        /// The key's file.
        path: PathBuf,
        /// What is wrong and what to do.
        reason: String,
    },
    /// A name that no object may have.
    #[error("{key:?} cannot name an object: {reason}")]
    InvalidKey {
        /// The refused name.
        key: String,
        /// The rule that it breaks.
        reason: &'static str,
    },
    /// There is no such object.
    #[error("the object store ({place}) has no object {key:?}")]
    NotFound {
        /// The store's address, without credentials.
        place: String,
        /// The name that was asked for.
        key: String,
    },
    /// The bucket or container itself is missing.
    #[error(
        "storage.objects = \"{place}\": there is no such bucket or container; create it or correct the name"
    )]
    MissingBucket {
        /// The store's address, without credentials.
        place: String,
    },
    /// A download address was asked for that is to live longer than the store allows.
    #[error(
        "results.url_lifetime_seconds = {asked}: the store at {place} signs addresses for at most {longest} seconds"
    )]
    Lifetime {
        /// The store's address, without credentials.
        place: String,
        /// The lifetime asked for, in seconds.
        asked: u64,
        /// The longest that is possible, in seconds.
        longest: u64,
    },
    /// The store refused, failed or did not answer.
    #[error("the object store ({place}) failed while {action}: {detail}")]
    Store {
        /// The store's address, without credentials.
        place: String,
        /// What was being done, with the object's name where there is one.
        action: String,
        /// What the store or the connection said, shortened.
        detail: String,
    },
}

impl ImagesError {
    /// Is there no room left where the objects lie?
    pub fn is_full(&self) -> bool {
        use io::ErrorKind::{QuotaExceeded, StorageFull};
        matches!(self, Self::Files { source, .. } if matches!(source.kind(), StorageFull | QuotaExceeded))
    }
}

/// The longest piece of a store's own words that goes into an error message, in bytes.
const MAX_DETAIL_BYTES: usize = 400;

/// Shortens what a store said: an answer's body may be a page long and may span lines.
pub(super) fn shortened(text: &str) -> String {
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
        let line = shortened(&page);
        assert!(line.len() <= MAX_DETAIL_BYTES + 4);
        assert!(line.starts_with("an error an error"));
        assert!(line.ends_with(" ..."));
        assert!(!line.contains('\n'));
    }
}
