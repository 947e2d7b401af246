//! Looking at jobs, waiting for them, and taking them back.

use super::examples::{self, canceled, done, failed, page, queued, with};
use crate::http::openapi::Header;
use crate::http::openapi::named;
use crate::http::openapi::{Answer, Operation, Sketch};
use crate::web::paging::Listing;
use crate::web::problem::Code;
use serde_json::{Value, json};
use tintype_api::schema::words;
use tintype_api::{Job, ListedJob};
use tintype_storage::domain::tier::{Mode, Tier};

const ID: &str = "The job's id, as its creation answered it.";

/// `GET /jobs`
pub fn list(sketch: &mut Sketch<'_>) -> Operation {
    let entry = with(
        done(),
        json!({
            "tier": "pro",
            "mode": "text-to-image",
            "aspect_ratio": "16:9",
            "resolution": "2K",
            "price": "0.134",
            "key_id": examples::KEY,
            "batch_id": null,
            "custom_id": null,
        }),
    );
    let listed = Answer::json(
        200,
        "A page of jobs.",
        sketch.schema::<Listing<ListedJob<'static>>>(),
        page(entry),
    );
    let moment = || json!({"type": "string", "format": "date-time"});
    Operation::new("listJobs", "Jobs", "List jobs")
        .text("Newest first, those of the synchronous interfaces included. A page looks at 2,000 jobs at most: with a filter that few of them pass it may hold less than `limit`, or nothing, and still have a `next_cursor`.")
        .window()
        .query("status", "Only jobs in this state.", words(["queued", "processing", "done", "failed"]))
        .query("tier", "Only jobs of this model.", words(Tier::ALL.iter().map(|it| it.word())))
        .query("mode", "Only jobs with input images, or without.", words(Mode::ALL.iter().map(|it| it.word())))
        .query("key", "Only jobs that this key asked for: its `key_id`.", json!({"type": "string", "format": "uuid"}))
        .query("batch_id", "Only jobs of this batch.", json!({"type": "string", "format": "uuid"}))
        .query("created_after", "Only jobs from this moment on.", moment())
        .query("created_before", "Only jobs before this moment.", moment())
        .deep_query(
            "metadata",
            "Only jobs whose `metadata` has this member with this value: `metadata[order]=4711`. A string is compared as it is, a number or `true` by its JSON text. Up to 10 different ones.",
            json!({"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 10}),
            json!({"order": "4711"}),
        )
        .answer(listed.not_stored())
        .refuses([Code::StorageUnavailable])
}

/// `GET /jobs/{job_id}`
pub fn show(sketch: &mut Sketch<'_>) -> Operation {
    let schema = sketch.schema::<Job<'static>>();
    let examples = named(&[("Done", done()), ("Queued", queued()), ("Failed", failed())]);
    let shown = Answer::new(200, "The job.")
        .content(
            "application/json",
            json!({"schema": schema, "examples": examples}),
        )
        .not_stored()
        .header(Header::PREFERENCE_APPLIED);
    Operation::new("showJob", "Jobs", "Get a job")
        .text("At once, or, with `wait` or `Prefer: wait=N`, as soon as the job is over and after that many seconds in any case. Give your client a time-out that is longer. Parameters that it does not know are ignored here, for pages that add one against caches.")
        .path_id("job_id", ID)
        .query("wait", "Seconds to wait for the end of the job.", json!({"type": "integer", "minimum": 0, "maximum": 60}))
        .header("Prefer", "`wait=N` does the same. What cannot be read is no preference.", json!({"type": "string", "examples": ["wait=30"]}))
        .answer(shown)
        .refuses([Code::NotFound, Code::ValidationFailed, Code::StorageUnavailable])
}

/// `DELETE /jobs/{job_id}`
pub fn cancel(sketch: &mut Sketch<'_>) -> Operation {
    let gone = Answer::json(
        200,
        "The job, now `failed` with the error `canceled`.",
        sketch.schema::<Job<'static>>(),
        canceled(),
    );
    Operation::new("cancelJob", "Jobs", "Cancel a job")
        .text("Its price is free again in the same moment, and its webhook is sent. A job that has begun, or is over, is left alone: `409`.")
        .path_id("job_id", ID)
        .answer(gone.not_stored())
        .refuses([Code::NotFound, Code::Conflict])
}

/// `GET /jobs/{job_id}/events`
pub fn follow(_: &mut Sketch<'_>) -> Operation {
    let stream = Answer::new(200, "The stream of events.")
        .content(
            "text/event-stream",
            json!({"schema": event(), "example": stream()}),
        )
        .not_stored()
        .header(Header::UNBUFFERED);
    Operation::new("followJob", "Jobs", "Stream the events of a job")
        .text("The states of a job as server-sent events: the present one at once, each new one when it comes, and the end of the stream after the terminal one. `data` of an event `status` is the job as the lookup tells it. Each new place of a job that waits is told by an event `queue`, such as `{\"job_id\":\"…\",\"queue_position\":36,\"estimated_start_at\":\"2026-11-20T20:12:40.000Z\"}`, and where the back end tells how far it is there are events `progress`, such as `{\"job_id\":\"…\",\"progress\":0.42}`; neither more than once a second. States that pass quickly may be left out; the last one never is. When the stream breaks off, come back with `Last-Event-ID`.")
        .path_id("job_id", ID)
        .header("Last-Event-ID", "The id of the last event that was heard.", json!({"type": "string", "examples": ["1"]}))
        .answer(stream)
        .answer(Answer::new(204, "The last event had been heard: there is nothing more to come.").not_stored())
        .refuses([Code::NotFound])
}

/// One event of the stream.
fn event() -> Value {
    json!({
        "description": "The fields of each event.",
        "properties": {
            "id": {"type": "string", "description": "The number of the state: what `Last-Event-ID` takes."},
            "event": {"type": "string", "enum": ["status", "queue", "progress"]},
            "data": {"type": "string", "description": "JSON in one line."},
        },
    })
}

fn stream() -> Value {
    let data = |job: Value| job.to_string();
    format!(
        "retry: 2000\n\nid: 1\nevent: status\ndata: {}\n\nevent: queue\ndata: {}\n\nid: 3\nevent: status\ndata: {}\n\n",
        data(queued()),
        json!({"job_id": queued()["job_id"], "queue_position": 2}),
        data(done())
    )
    .into()
}
