//! Describes the operator's calls on jobs.

use super::examples::{canceled_job, done_job, page, record, record_without_image};
use crate::http::openapi::{DocumentBuilder, Operation, ResponseDoc};
use crate::web::paging::Listing;
use crate::web::problem::Code;
use serde_json::json;
use tintype_api::JobRecord;
use tintype_api::schema::words;
use tintype_storage::domain::tier::{Mode, Tier};

const ID: &str = "The job's id.";
const ACCOUNT: &str = "The job's account. Without it the service searches all accounts, which takes long if there are very many.";

/// `GET /jobs`
pub fn list(builder: &mut DocumentBuilder<'_>) -> Operation {
    let id = || json!({"type": "string", "format": "uuid"});
    let moment = || json!({"type": "string", "format": "date-time"});
    let schema = builder.schema::<Listing<JobRecord<'static>>>();
    Operation::new("listJobs", "Jobs", "List jobs of all accounts")
        .text("Newest first. A page scans at most 10,000 jobs over all accounts, or 500 with `metadata`, and may end early with a `next_cursor`.")
        .window()
        .query("account_id", "Only jobs of this account.", id())
        .query("status", "Only jobs in this state.", words(["queued", "processing", "done", "failed"]))
        .query("tier", "Only jobs of this model.", words(Tier::ALL.iter().map(|it| it.word())))
        .query("mode", "Only jobs with input images, or without.", words(Mode::ALL.iter().map(|it| it.word())))
        .query("key_id", "Only jobs of this key.", id())
        .query("batch_id", "Only jobs of this batch.", id())
        .query("from", "Only jobs from this time on.", moment())
        .query("to", "Only jobs up to this time.", moment())
        .query("key", "As `key_id`.", id())
        .query("created_after", "As `from`.", moment())
        .query("created_before", "Only jobs before this time.", moment())
        .deep_query(
            "metadata",
            "Only jobs whose metadata has these members.",
            json!({"type": "object", "maxProperties": 10, "additionalProperties": {"type": "string"}}),
            json!({"order": "4711"}),
        )
        .response(ResponseDoc::json(200, "A page of jobs.", schema, page(record(done_job()))))
        .refuses([Code::StorageUnavailable])
}

/// `GET /jobs/{job_id}`
pub fn show(builder: &mut DocumentBuilder<'_>) -> Operation {
    let schema = builder.schema::<JobRecord<'static>>();
    Operation::new("showJob", "Jobs", "Get a job")
        .path_id("job_id", ID)
        .query(
            "account_id",
            ACCOUNT,
            json!({"type": "string", "format": "uuid"}),
        )
        .response(ResponseDoc::json(
            200,
            "The full record of the job.",
            schema,
            record(done_job()),
        ))
        .refuses([
            Code::NotFound,
            Code::ValidationFailed,
            Code::StorageUnavailable,
        ])
}

/// `DELETE /jobs/{job_id}`
pub fn cancel(builder: &mut DocumentBuilder<'_>) -> Operation {
    let schema = builder.schema::<JobRecord<'static>>();
    let example = record_without_image(canceled_job());
    Operation::new("cancelJob", "Jobs", "Cancel a job")
        .text("Releases the price at once and sends the webhook. A job that has started or ended is not canceled: `409`.")
        .path_id("job_id", ID)
        .query(
            "account_id",
            ACCOUNT,
            json!({"type": "string", "format": "uuid"}),
        )
        .response(ResponseDoc::json(200, "The job, now `failed`.", schema, example))
        .refuses([Code::NotFound, Code::ValidationFailed, Code::Conflict])
}
