//! The operator's calls on jobs.

use super::examples::{canceled, done, page, record, record_without_picture, with};
use crate::http::openapi::kinds::words;
use crate::http::openapi::{Answer, Operation, Sketch};
use crate::http::paging::Listing;
use crate::http::problem::Code;
use crate::http::wire::job_record::JobRecord;
use serde_json::json;
use tintype_storage::domain::tier::Tier;

const ID: &str = "The job's id.";

/// `GET /jobs`
pub fn list(sketch: &mut Sketch<'_>) -> Operation {
    let id = || json!({"type": "string", "format": "uuid"});
    let moment = || json!({"type": "string", "format": "date-time"});
    let schema = sketch.schema::<Listing<JobRecord<'static>>>();
    let entry = with(record(done()), json!({"result": null}));
    Operation::new("listJobs", "Jobs", "Jobs of every account")
        .text("Newest first, without download URLs: look a job up for that. A page looks at 10,000 jobs at most, and may then end early with a `next_cursor`.")
        .window()
        .query("account_id", "Only jobs of this account.", id())
        .query("status", "Only jobs in this state.", words(["queued", "processing", "done", "failed"]))
        .query("tier", "Only jobs of this model.", words(Tier::ALL.iter().map(|it| it.word())))
        .query("key_id", "Only jobs that this key asked for.", id())
        .query("from", "Only jobs from this moment on.", moment())
        .query("to", "Only jobs up to this moment.", moment())
        .answer(Answer::json(200, "A page of jobs.", schema, page(entry)))
}

/// `GET /jobs/{job_id}`
pub fn show(sketch: &mut Sketch<'_>) -> Operation {
    let schema = sketch.schema::<JobRecord<'static>>();
    Operation::new("showJob", "Jobs", "A job")
        .path_id("job_id", ID)
        .answer(Answer::json(
            200,
            "The job with all that is on record of it.",
            schema,
            record(done()),
        ))
        .refuses([Code::NotFound, Code::StorageUnavailable])
}

/// `DELETE /jobs/{job_id}`
pub fn cancel(sketch: &mut Sketch<'_>) -> Operation {
    let schema = sketch.schema::<JobRecord<'static>>();
    let example = record_without_picture(canceled());
    Operation::new("cancelJob", "Jobs", "Take a queued job back")
        .text("As its account can. A job that has begun, or is over, is left alone: `409`.")
        .path_id("job_id", ID)
        .answer(Answer::json(200, "The job, now `failed`.", schema, example))
        .refuses([Code::NotFound, Code::Conflict])
}
