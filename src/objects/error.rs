//! Errors of the object store, worded for the operator.

use std::io;
use std::path::{Path, PathBuf};

pub use tintype_actors::ports::OBJECT_STORE_TARGET as FAULT_TARGET;

/// An error of the object store, of its configuration or of the signing key.
///
/// No message holds a secret: `value` and `place` are store addresses without credentials, and keys
/// never appear.
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
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
        cause: StoreFault,
        /// The message of the store or connection, shortened.
        detail: String,
    },
}

/// Why a bucket cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreFault {
    AccessDenied,
    Unreachable,
    /// No credentials are set, and neither the bucket nor the service that issues them to this machine has answered.
    UnreachableWithoutCredentials,
    /// It lists its objects, but the credentials are not of a kind that signs URLs, or may not sign.
    CannotSign,
    /// It answers other requests, and has not taken an object in time.
    TooSlow,
    /// The store answered with another error.
    Failed,
}

impl StoreFault {
    /// Finds the cause in the message of the client library, whose error for a failed list has no variants.
    pub(super) fn of(message: &str) -> Self {
        let answered = |status: &str| message.contains(&format!("status code: {status}"));
        if answered("401") || answered("403") {
            Self::AccessDenied
        } else if answered("") || message.contains("error response:") {
            Self::Failed
        } else {
            Self::Unreachable
        }
    }
}

impl ObjectError {
    /// The error of the file system when `action` fails on `path`.
    pub(super) fn files(action: &'static str, path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::Files {
            action,
            path: path.to_path_buf(),
            source,
        }
    }

    /// The error with another cause than its message tells, if it is one of the store.
    pub(super) fn with_cause(mut self, cause: StoreFault) -> Self {
        if let Self::Store { cause: found, .. } = &mut self {
            *found = cause;
        }
        self
    }

    /// Did the bucket answer the call? Otherwise it answers no other call either.
    pub fn was_answered(&self) -> bool {
        use StoreFault::{Unreachable, UnreachableWithoutCredentials};
        match self {
            Self::Store { cause, .. } => {
                !matches!(cause, Unreachable | UnreachableWithoutCredentials)
            }
            Self::MissingBucket { .. } => false,
            _ => true,
        }
    }

    /// Why the object store cannot be used, for callers: without addresses and paths.
    pub fn reason(&self) -> &'static str {
        use io::ErrorKind::{QuotaExceeded, StorageFull};
        match self {
            Self::Files { source, .. } if matches!(source.kind(), StorageFull | QuotaExceeded) => {
                "the object store is full: free space to store images again"
            }
            Self::Files { .. } => "the object store cannot be written",
            Self::MissingBucket { .. } => "the bucket of the object store does not exist",
            Self::Store { cause, .. } => match cause {
                StoreFault::AccessDenied => "the object store denies access",
                StoreFault::Unreachable => "the object store cannot be reached",
                StoreFault::UnreachableWithoutCredentials => {
                    "the object store cannot be reached, or there are no credentials for it"
                }
                StoreFault::CannotSign => {
                    "the credentials for the object store cannot sign download URLs"
                }
                StoreFault::TooSlow => "the object store is too slow to store images",
                StoreFault::Failed => "the object store returns an error",
            },
            _ => "the object store cannot be used",
        }
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
    fn the_cause_is_found_in_the_message_of_the_client() {
        let status = |it: &str| {
            format!(
                "Error performing GET in 3ms - Server returned non-2xx status code: {it}: <Error/>"
            )
        };
        for (message, cause) in [
            (status("403 Forbidden"), StoreFault::AccessDenied),
            (status("401 Unauthorized"), StoreFault::AccessDenied),
            (status("500 Internal Server Error"), StoreFault::Failed),
            (
                "Error performing GET http://127.0.0.1:9/pictures in 3s, after 6 retries - HTTP error: error sending request"
                    .to_owned(),
                StoreFault::Unreachable,
            ),
            ("no response within 5 seconds".to_owned(), StoreFault::Unreachable),
        ] {
            assert_eq!(StoreFault::of(&message), cause, "{message}");
        }
    }

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
