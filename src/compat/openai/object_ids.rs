//! Ids of files, batches and responses in the OpenAI API: the id of the record with a prefix for its type.

use crate::application::file_batches::ResultsKind;
use crate::compat::refusal::{Kind, Refusal};
use std::fmt;
use tintype_storage::domain::ids::{BatchId, FileId, JobId};

const BATCH: &str = "batch_";
const FILE: &str = "file-";
const OUTPUT: &str = "file-output-";
const ERRORS: &str = "file-errors-";
const RESPONSE: &str = "resp_";
const IMAGE_CALL: &str = "ig_";

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

pub fn response_id(id: JobId) -> String {
    format!("{RESPONSE}{id}")
}

/// `None` if the text is not the id of a response.
pub fn parse_response_id(text: &str) -> Option<JobId> {
    text.strip_prefix(RESPONSE)?.parse().ok()
}

/// The id of the image in the response of a job.
pub fn image_call_id(id: JobId) -> String {
    format!("{IMAGE_CALL}{id}")
}

/// `None` if the text is not the id of an image.
pub fn parse_image_call_id(text: &str) -> Option<JobId> {
    text.strip_prefix(IMAGE_CALL)?.parse().ok()
}

/// The same message for an unknown id, an invalid id, and the response of another account.
pub fn no_such_response(id: &str) -> Refusal {
    let message = format!("Response with id '{}' not found.", printable_id(id));
    no_object(message, "id")
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

/// The same message for an unknown id, an invalid id, and the response of another account.
pub fn no_such_previous(id: &str, param: &str) -> Refusal {
    let message = format!(
        "Previous response with id '{}' not found.",
        printable_id(id)
    );
    Refusal {
        kind: Kind::NoSuchPrevious,
        ..no_object(message, param)
    }
}

/// The same message for an unknown id, an invalid id, and the image of another account.
pub fn no_such_item(id: &str, param: &str) -> Refusal {
    let message = format!("Item with id '{}' not found.", printable_id(id));
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
        let job = JobId(id);
        assert_eq!(parse_response_id(&response_id(job)), Some(job));
        assert_eq!(parse_image_call_id(&image_call_id(job)), Some(job));
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
            assert_eq!(parse_response_id(bad), None, "{bad}");
        }
    }
}
