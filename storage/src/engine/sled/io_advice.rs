//! Advice for the operator on file system errors.

use super::super::EngineError;
use std::io;

/// Too many open files: in this process, in the whole system.
const NO_DESCRIPTORS: [i32; 2] = [24, 23];
/// A failing disk or connection to it.
const INPUT_OUTPUT: i32 = 5;

/// The error with advice.
pub fn with_advice(error: &io::Error) -> String {
    if let Some(code) = code_in_words(error) {
        return with_advice(&io::Error::from_raw_os_error(code));
    }
    use io::ErrorKind::{
        AlreadyExists, NotADirectory, PermissionDenied, QuotaExceeded, ReadOnlyFilesystem,
        StorageFull,
    };
    let advice = match error.kind() {
        PermissionDenied => "make it readable and writable for this user",
        AlreadyExists | NotADirectory => return "there is a file in its place".into(),
        StorageFull | QuotaExceeded => "free some space, then start again",
        ReadOnlyFilesystem => {
            "the file system is read-only: check the system log for the cause, then mount it writable"
        }
        _ => match error.raw_os_error() {
            Some(code) if NO_DESCRIPTORS.contains(&code) => {
                "raise the limit of open files (ulimit -n), then start again"
            }
            Some(INPUT_OUTPUT) => {
                "the disk is failing: check the system log, then start again there or from a backup elsewhere"
            }
            _ => return error.to_string(),
        },
    };
    format!("{error}; {advice}")
}

/// The failure of an operation on `what`, with advice.
pub fn io_failed(what: &str, error: &io::Error) -> EngineError {
    EngineError::Failed(format!("{what}: {}", with_advice(error)))
}

/// sled passes errors on as text in `{:?}` format.
fn code_in_words(error: &io::Error) -> Option<i32> {
    let text = error.to_string();
    let (code, _) = text.strip_prefix("Os { code: ")?.split_once(',')?;
    code.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_that_an_operator_can_fix_contains_advice() {
        for (code, word) in [
            (28, "free some space"),
            (122, "free some space"),
            (24, "ulimit -n"),
            (23, "ulimit -n"),
            (30, "read-only"),
            (13, "writable for this user"),
            (5, "system log"),
        ] {
            let text = with_advice(&io::Error::from_raw_os_error(code));
            assert!(text.contains(word), "{code}: {text}");
        }
        assert_eq!(with_advice(&io::Error::other("odd")), "odd");
    }

    #[test]
    fn an_error_that_sled_passes_as_text_gets_the_same_advice() {
        let original = io::Error::from_raw_os_error(5);
        let worded = io::Error::new(original.kind(), format!("{original:?}"));
        assert_eq!(with_advice(&worded), with_advice(&original));
    }
}
