//! The file object of the OpenAI API.

use super::File;
use crate::application::file_batches::{ResultsFile, ResultsKind};
use crate::compat::openai::object_ids::{WireFileId, batch_id};
use serde_json::{Value, json};
use tintype_storage::domain::file_batch::UploadedFile;
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

pub fn json(file: &File) -> Value {
    let id = name(file).to_string();
    match file {
        File::Uploaded(file) => uploaded_object(&id, file),
        File::Results(file) => results(&id, file),
    }
}

fn uploaded_object(id: &str, file: &UploadedFile) -> Value {
    json!({
        "id": id,
        "object": "file",
        "bytes": file.bytes,
        "created_at": file.created_at.seconds(),
        "expires_at": file.expires_at.map(Timestamp::seconds),
        "filename": file.name,
        "purpose": BATCH,
        "status": "processed",
        "status_details": null,
    })
}

/// `bytes` is 0, because the file is generated when it is read and its length is unknown.
fn results(id: &str, file: &ResultsFile) -> Value {
    let word = match file.kind {
        ResultsKind::Output => "output",
        ResultsKind::Errors => "error",
    };
    json!({
        "id": id,
        "object": "file",
        "bytes": 0,
        "created_at": file.created_at.seconds(),
        "expires_at": file.expires_at.map(Timestamp::seconds),
        "filename": format!("{}_{word}.jsonl", batch_id(file.batch.id)),
        "purpose": BATCH_OUTPUT,
        "status": "processed",
        "status_details": null,
    })
}
