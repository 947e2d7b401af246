//! The ids of files and batches on the wire: those of the records, with a prefix that says what they are.

use crate::application::file_batches::ResultsKind;
use crate::compat::refusal::{Kind, Refusal};
use std::fmt;
use tintype_storage::domain::ids::{BatchId, FileId};

const BATCH: &str = "batch_";
const FILE: &str = "file-";
const OUTPUT: &str = "file-output-";
const ERRORS: &str = "file-errors-";

/// What a file id names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileName {
    Uploaded(FileId),
    /// A file with results of this batch.
    Results(ResultsKind, BatchId),
}

impl FileName {
    /// `None` where the text is no id of a file.
    pub fn read(text: &str) -> Option<Self> {
        let results = |kind| move |id| Self::Results(kind, id);
        if let Some(id) = text.strip_prefix(OUTPUT) {
            return id.parse().ok().map(results(ResultsKind::Output));
        }
        if let Some(id) = text.strip_prefix(ERRORS) {
            return id.parse().ok().map(results(ResultsKind::Errors));
        }
        text.strip_prefix(FILE)?.parse().ok().map(Self::Uploaded)
    }

    /// The 16 bytes by which lists are sorted.
    pub fn as_bytes(&self) -> [u8; 16] {
        match self {
            Self::Uploaded(id) => *id.as_bytes(),
            Self::Results(_, id) => *id.as_bytes(),
        }
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uploaded(id) => write!(f, "{FILE}{id}"),
            Self::Results(ResultsKind::Output, id) => write!(f, "{OUTPUT}{id}"),
            Self::Results(ResultsKind::Errors, id) => write!(f, "{ERRORS}{id}"),
        }
    }
}

/// The id of a batch on the wire.
pub fn batch(id: BatchId) -> String {
    format!("{BATCH}{id}")
}

/// The batch that an id on the wire names; `None` where the text is no such id.
pub fn read_batch(text: &str) -> Option<BatchId> {
    text.strip_prefix(BATCH)?.parse().ok()
}

/// The same text for an unknown id, no id at all, and another account's file.
pub fn no_file(id: &str, param: &str) -> Refusal {
    no_object(format!("No such File object: {}", shown(id)), param)
}

/// The same text for an unknown id, no id at all, and another account's batch.
pub fn no_batch(id: &str) -> Refusal {
    no_object(format!("No batch found with id '{}'", shown(id)), "id")
}

fn no_object(message: String, param: &str) -> Refusal {
    Refusal {
        field: Some(param.to_owned()),
        ..Refusal::new(Kind::NoSuchObject, message)
    }
}

fn shown(id: &str) -> String {
    id.chars().filter(|it| !it.is_control()).take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn ids_are_read_as_they_are_written() {
        let id = Uuid::from_u128(7);
        for name in [
            FileName::Uploaded(FileId(id)),
            FileName::Results(ResultsKind::Output, BatchId(id)),
            FileName::Results(ResultsKind::Errors, BatchId(id)),
        ] {
            assert_eq!(FileName::read(&name.to_string()), Some(name));
        }
        assert_eq!(read_batch(&batch(BatchId(id))), Some(BatchId(id)));
        for bad in [
            "",
            "file-",
            "file-x",
            "batch_",
            &id.to_string(),
            "file-output-",
        ] {
            assert_eq!(FileName::read(bad), None, "{bad}");
            assert_eq!(read_batch(bad), None, "{bad}");
        }
    }
}
