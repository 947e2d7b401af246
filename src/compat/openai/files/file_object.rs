//! The file object of the OpenAI API.

use super::File;
use crate::application::file_batches::ResultsKind;
use crate::compat::openai::object_ids::{WireFileId, batch_id};
use serde_json::{Value, json};
use tintype_storage::domain::time::Timestamp;

/// Purpose of a file of requests.
pub const BATCH: &str = "batch";
/// Purpose of a file of results.
pub const BATCH_OUTPUT: &str = "batch_output";

pub fn name(file: &File) -> WireFileId {
    match file {
        File::Uploaded(file) => WireFileId::Uploaded(file.id),
        File::Results(file) => WireFileId::Results(file.kind, file.batch.id),
    }
}

/// `bytes` is 0 for results, because their file is generated when it is read and its length is unknown.
pub fn json(file: &File) -> Value {
    let (bytes, created_at, expires_at, purpose) = match file {
        File::Uploaded(it) => (it.bytes, it.created_at, it.expires_at, BATCH),
        File::Results(it) => (0, it.created_at, it.expires_at, BATCH_OUTPUT),
    };
    let file_name = match file {
        File::Uploaded(it) => it.name.clone(),
        File::Results(it) => {
            let word = match it.kind {
                ResultsKind::Output => "output",
                ResultsKind::Errors => "error",
            };
            format!("{}_{word}.jsonl", batch_id(it.batch.id))
        }
    };
    json!({
        "id": name(file).to_string(),
        "object": "file",
        "bytes": bytes,
        "created_at": created_at.seconds(),
        "expires_at": expires_at.map(Timestamp::seconds),
        "filename": file_name,
        "purpose": purpose,
        "status": "processed",
        "status_details": null,
    })
}
