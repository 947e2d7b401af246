//! Ids of files and batches in the OpenAI API: the id of the record with a prefix for its type.

use crate::application::file_batches::ResultsKind;
use crate::compat::refusal::{Kind, Refusal};
use std::fmt;
use tintype_storage::domain::ids::{BatchId, FileId};

const BATCH: &str = "batch_";
const FILE: &str = "file-";
const OUTPUT: &str = "file-output-";
const ERRORS: &str = "file-errors-";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireFileId {
    Uploaded(FileId),
    /// A file with the results of this batch.
    Results(ResultsKind, BatchId),
}

impl WireFileId {
    /// `None` if the text is not a file id.
    pub fn parse(text: &str) -> Option<Self> {
        let results = |kind| move |id| Self::Results(kind, id);
        if let Some(id) = text.strip_prefix(OUTPUT) {
            return id.parse().ok().map(results(ResultsKind::Output));
        }
        if let Some(id) = text.strip_prefix(ERRORS) {
            return id.parse().ok().map(results(ResultsKind::Errors));
        }
        text.strip_prefix(FILE)?.parse().ok().map(Self::Uploaded)
    }

    /// The sort key of lists.
    pub fn as_bytes(&self) -> [u8; 16] {
        match self {
            Self::Uploaded(id) => *id.as_bytes(),
            Self::Results(_, id) => *id.as_bytes(),
        }
    }
}

impl fmt::Display for WireFileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uploaded(id) => write!(f, "{FILE}{id}"),
            Self::Results(ResultsKind::Output, id) => write!(f, "{OUTPUT}{id}"),
            Self::Results(ResultsKind::Errors, id) => write!(f, "{ERRORS}{id}"),
        }
    }
}

pub fn batch_id(id: BatchId) -> String {
    format!("{BATCH}{id}")
}

/// `None` if the text is not a batch id.
pub fn parse_batch_id(text: &str) -> Option<BatchId> {
    text.strip_prefix(BATCH)?.parse().ok()
}

/// The same message for an unknown id, an invalid id, and the file of another account.
pub fn no_such_file(id: &str, param: &str) -> Refusal {
    no_object(format!("No such File object: {}", printable_id(id)), param)
}

/// The same message for an unknown id, an invalid id, and the batch of another account.
pub fn no_such_batch(id: &str, param: &str) -> Refusal {
    let message = format!("No batch found with id '{}'", printable_id(id));
    no_object(message, param)
}

fn no_object(message: String, param: &str) -> Refusal {
    Refusal {
        field: Some(param.to_owned()),
        ..Refusal::new(Kind::NoSuchObject, message)
    }
}

fn printable_id(id: &str) -> String {
    id.chars().filter(|it| !it.is_control()).take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn ids_are_parsed_as_they_are_formatted() {
        let id = Uuid::from_u128(7);
        for name in [
            WireFileId::Uploaded(FileId(id)),
            WireFileId::Results(ResultsKind::Output, BatchId(id)),
            WireFileId::Results(ResultsKind::Errors, BatchId(id)),
        ] {
            assert_eq!(WireFileId::parse(&name.to_string()), Some(name));
        }
        assert_eq!(parse_batch_id(&batch_id(BatchId(id))), Some(BatchId(id)));
        for bad in [
            "",
            "file-",
            "file-x",
            "batch_",
            &id.to_string(),
            "file-output-",
        ] {
            assert_eq!(WireFileId::parse(bad), None, "{bad}");
            assert_eq!(parse_batch_id(bad), None, "{bad}");
        }
    }
}
