//! The batch object of the OpenAI API.

use super::batch_body::{COMPLETION_WINDOW, path_of};
use crate::application::file_batches::{FileBatchStatus, ResultsKind};
use crate::compat::openai::object_ids::{self, WireFileId};
use crate::compat::state::CompatState;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tintype_storage::domain::batch::{BatchProgress, BatchStatus};
use tintype_storage::domain::file_batch::{LineFault, Validation};
use tintype_storage::domain::time::Timestamp;

pub fn json(batch: &FileBatchStatus, state: &CompatState) -> Value {
    let file_batch = &batch.file_batch;
    let progress = batch.accepted.as_ref().map(|(_, progress)| progress);
    let results = |kind| {
        let file = batch.results_of(kind, &state.core, &state.settings)?;
        Some(WireFileId::Results(kind, file.batch.id).to_string())
    };
    let created = file_batch.created_at.seconds();
    let ended = progress.and_then(|it| it.ended_at);
    let canceled = progress.and_then(|it| it.canceled_at);
    let seconds = |at: Option<Timestamp>| at.map(Timestamp::seconds);
    let if_canceled = |is: bool| seconds(ended.filter(|_| canceled.is_some() == is));
    let metadata = file_batch.terms.metadata.clone();
    let metadata = metadata.and_then(|text| RawValue::from_string(text).ok());
    json!({
        "id": object_ids::batch_id(file_batch.id),
        "object": "batch",
        "endpoint": path_of(file_batch.terms.endpoint),
        "errors": errors(&file_batch.outcome),
        "input_file_id": WireFileId::Uploaded(file_batch.terms.input).to_string(),
        "completion_window": COMPLETION_WINDOW,
        "status": status(progress),
        "output_file_id": results(ResultsKind::Output),
        "error_file_id": results(ResultsKind::Errors),
        "created_at": created,
        "in_progress_at": progress.map(|_| created),
        "expires_at": null,
        "finalizing_at": seconds(ended),
        "completed_at": if_canceled(false),
        "failed_at": progress.is_none().then_some(created),
        "expired_at": null,
        "cancelling_at": seconds(canceled),
        "cancelled_at": if_canceled(true),
        "request_counts": {
            "total": progress.map_or(0, BatchProgress::total),
            "completed": progress.map_or(0, |it| it.done),
            "failed": progress.map_or(0, |it| it.failed),
        },
        "metadata": metadata,
    })
}

fn status(progress: Option<&BatchProgress>) -> &'static str {
    let Some(progress) = progress else {
        return "failed";
    };
    match progress.status() {
        BatchStatus::InProgress => "in_progress",
        BatchStatus::Canceling => "cancelling",
        BatchStatus::Ended if progress.canceled_at.is_some() => "cancelled",
        BatchStatus::Ended => "completed",
    }
}

fn errors(outcome: &Validation) -> Value {
    let Validation::Failed(faults) = outcome else {
        return Value::Null;
    };
    let entry = |fault: &LineFault| {
        json!({
            "code": fault.code,
            "message": fault.message,
            "param": fault.param,
            "line": fault.line,
        })
    };
    let data: Vec<Value> = faults.iter().map(entry).collect();
    json!({"object": "list", "data": data})
}
