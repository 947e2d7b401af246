//! The operator's calls on jobs.

use super::examples::{canceled, done, page, record, record_without_picture};
use crate::http::openapi::{Answer, Operation, Sketch};
use crate::web::paging::Listing;
use crate::web::problem::Code;
use serde_json::json;
use tintype_api::JobRecord;
use tintype_api::schema::words;
use tintype_storage::domain::tier::{Mode, Tier};

const ID: &str = "The job's id.";
const ACCOUNT: &str =
    "Whose it is. Without it all accounts are asked, which takes long where there are very many.";

/// `GET /jobs`
pub fn list(sketch: &mut Sketch<'_>) -> Operation {
    let id = || json!({"type": "string", "format": "uuid"});
    let moment = || json!({"type": "string", "format": "date-time"});
    let schema = sketch.schema::<Listing<JobRecord<'static>>>();
    Operation::new("listJobs", "Jobs", "List jobs of all accounts")
        .text("Newest first. A page looks at 10,000 jobs at most over all accounts, at 500 where `metadata` is asked for, and may then end early with a `next_cursor`.")
        .window()
        .query("account_id", "Only jobs of this account.", id())
        .query("status", "Only jobs in this state.", words(["queued", "processing", "done", "failed"]))
        .query("tier", "Only jobs of this model.", words(Tier::ALL.iter().map(|it| it.word())))
        .query("mode", "Only jobs with input images, or only such without.", words(Mode::ALL.iter().map(|it| it.word())))
        .query("key_id", "Only jobs that this key asked for.", id())
        .query("batch_id", "Only jobs of this batch.", id())
        .query("from", "Only jobs from this moment on.", moment())
        .query("to", "Only jobs up to this moment.", moment())
        .query("key", "As `key_id`.", id())
        .query("created_after", "As `from`.", moment())
        .query("created_before", "Only jobs before this moment.", moment())
        .deep_query(
            "metadata",
            "Only jobs whose metadata has these members.",
            json!({"type": "object", "maxProperties": 10, "additionalProperties": {"type": "string"}}),
            json!({"order": "4711"}),
        )
        .answer(Answer::json(200, "A page of jobs.", schema, page(record(done()))))
        .refuses([Code::StorageUnavailable])
}

/// `GET /jobs/{job_id}`
pub fn show(sketch: &mut Sketch<'_>) -> Operation {
    let schema = sketch.schema::<JobRecord<'static>>();
    Operation::new("showJob", "Jobs", "Get a job")
        .path_id("job_id", ID)
        .query(
            "account_id",
            ACCOUNT,
            json!({"type": "string", "format": "uuid"}),
        )
        .answer(Answer::json(
            200,
            "The job with all that is on record of it.",
            schema,
            record(done()),
        ))
        .refuses([
            Code::NotFound,
            Code::ValidationFailed,
            Code::StorageUnavailable,
        ])
}

/// `DELETE /jobs/{job_id}`
pub fn cancel(sketch: &mut Sketch<'_>) -> Operation {
    let schema = sketch.schema::<JobRecord<'static>>();
    let example = record_without_picture(canceled());
    Operation::new("cancelJob", "Jobs", "Cancel a job")
        .text("As its account can. A job that has begun, or is over, is left alone: `409`.")
        .path_id("job_id", ID)
        .query(
            "account_id",
            ACCOUNT,
            json!({"type": "string", "format": "uuid"}),
        )
        .answer(Answer::json(200, "The job, now `failed`.", schema, example))
        .refuses([Code::NotFound, Code::ValidationFailed, Code::Conflict])
}
