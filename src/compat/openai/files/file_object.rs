//! A file as OpenAI's SDKs read it.

use super::File;
use crate::application::file_batches::{ResultsFile, ResultsKind};
use crate::compat::openai::object_ids::{FileName, batch};
use serde_json::{Value, json};
use tintype_storage::domain::file_batch::UploadedFile;
use tintype_storage::domain::time::Timestamp;

/// The purpose of files with requests.
pub const BATCH: &str = "batch";
/// The purpose of files with results.
pub const BATCH_OUTPUT: &str = "batch_output";

/// The id of a file.
pub fn name(file: &File) -> FileName {
    match file {
        File::Uploaded(file) => FileName::Uploaded(file.id),
        File::Results(file) => FileName::Results(file.kind, file.batch.id),
    }
}

/// The whole object.
pub fn json(file: &File) -> Value {
    let id = name(file).to_string();
    match file {
        File::Uploaded(file) => uploaded(&id, file),
        File::Results(file) => results(&id, file),
    }
}

fn uploaded(id: &str, file: &UploadedFile) -> Value {
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

/// Its length is not known: it is written while it is read.
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
        "filename": format!("{}_{word}.jsonl", batch(file.batch.id)),
        "purpose": BATCH_OUTPUT,
        "status": "processed",
        "status_details": null,
    })
}
