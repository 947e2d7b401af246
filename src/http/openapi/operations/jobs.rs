//! Describes the calls on jobs.

use super::examples::{self, canceled_job, done_job, failed_job, page, queued_job, with};
use crate::http::openapi::{
    DocumentBuilder, Header, Operation, ResponseDoc, date_time, named_examples, uuid,
};
use crate::web::problem::Code;
use serde_json::{Value, json};
use tintype_api::schema::words;
use tintype_api::{Job, ListedJob};
use tintype_storage::domain::job::JobStatus;
use tintype_storage::domain::tier::{Mode, Tier};

pub fn list(builder: &mut DocumentBuilder<'_>) -> Operation {
    let entry = with(
        done_job(),
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
    let listed = builder.page::<ListedJob<'static>>("A page of jobs.", page(entry));
    Operation::new("listJobs", "Jobs", "List jobs")
        .text("Newest first, including jobs of the synchronous interfaces. A page scans at most 2,000 jobs: if few match a filter, it may contain fewer than `limit`, or none, and still have a `next_cursor`.")
        .window()
        .query("status", "Only jobs in this state.", words(JobStatus::names()))
        .query("tier", "Only jobs of this model.", words(Tier::names()))
        .query("mode", "Only jobs with input images, or without.", words(Mode::names()))
        .query("key", "Only jobs of the key with this `key_id`.", uuid())
        .query("batch_id", "Only jobs of this batch.", uuid())
        .query("created_after", "Only jobs from this time on.", date_time())
        .query("created_before", "Only jobs before this time.", date_time())
        .deep_query(
            "metadata",
            "Only jobs whose `metadata` has this member with this value: `metadata[order]=4711`. A string is compared as it is, a number or `true` by its JSON text. At most 10 members.",
            json!({"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 10}),
            json!({"order": "4711"}),
        )
        .response(listed)
        .refuses([Code::StorageUnavailable])
}

pub fn show(builder: &mut DocumentBuilder<'_>) -> Operation {
    let schema = builder.schema::<Job<'static>>();
    let examples = named_examples(&[
        ("Done", done_job()),
        ("Queued", queued_job()),
        ("Failed", failed_job()),
    ]);
    let shown = ResponseDoc::new(200, "The job.")
        .content(
            "application/json",
            json!({"schema": schema, "examples": examples}),
        )
        .header(Header::PREFERENCE_APPLIED);
    Operation::new("showJob", "Jobs", "Get a job")
        .text("Responds at once. With `wait` or `Prefer: wait=N` it responds when the job has ended, or after that many seconds at the latest; set a longer timeout in your client. Unknown parameters are ignored here, because some pages add one to avoid caches.")
        .long_poll("Seconds to wait for the end of the job.")
        .response(shown)
        .refuses([Code::ValidationFailed, Code::StorageUnavailable])
}

pub fn cancel(builder: &mut DocumentBuilder<'_>) -> Operation {
    let gone = builder.response::<Job<'static>>(
        200,
        "The job, now `failed` with the error `canceled`.",
        canceled_job(),
    );
    Operation::new("cancelJob", "Jobs", "Cancel a job")
        .text("Releases the price at once and sends the webhook. A job that has started or ended is not canceled: `409`.")
        .response(gone)
        .refuses([Code::Conflict])
}

pub fn delete_image(_: &mut DocumentBuilder<'_>) -> Operation {
    Operation::new("removeImage", "Jobs", "Delete the image of a job")
        .text("Deletes the image and its thumbnails at once, before its retention ends. The job stays `done` and is not refunded; its `image_url` returns `410`. A repeated call returns the same. A job without an image: `409`.")
        .response(ResponseDoc::new(204, "The image is deleted."))
        .refuses([Code::Conflict, Code::StorageUnavailable])
}

pub fn follow(_: &mut DocumentBuilder<'_>) -> Operation {
    let stream = ResponseDoc::new(200, "The stream of events.")
        .content(
            "text/event-stream",
            json!({"schema": event(), "example": stream()}),
        )
        .header(Header::UNBUFFERED);
    Operation::new("followJob", "Jobs", "Stream the events of a job")
        .text("The states of a job as server-sent events: the current one at once, then each new one. The stream ends after the terminal one. `data` of an event `status` is the job as the lookup returns it. An event `queue` reports each new position of a queued job, such as `{\"job_id\":\"…\",\"queue_position\":36,\"estimated_start_at\":\"2026-11-20T20:12:40.000Z\"}`, and if the backend reports progress there are events `progress`, such as `{\"job_id\":\"…\",\"progress\":0.42}`; both at most once a second. Short states may be skipped, but never the last one. If the stream breaks, reconnect with `Last-Event-ID`.")
        .header("Last-Event-ID", "The id of the last received event.", json!({"type": "string", "examples": ["1"]}))
        .response(stream)
        .response(ResponseDoc::new(204, "The client has already received the last event."))
}

/// One event of the stream.
fn event() -> Value {
    json!({
        "description": "The fields of each event.",
        "properties": {
            "id": {"type": "string", "description": "The number of the state, for `Last-Event-ID`."},
            "event": {"type": "string", "enum": ["status", "queue", "progress"]},
            "data": {"type": "string", "description": "JSON in one line."},
        },
    })
}

fn stream() -> Value {
    let data = |job: Value| job.to_string();
    format!(
        "retry: 2000\n\nid: 1\nevent: status\ndata: {}\n\nevent: queue\ndata: {}\n\nid: 3\nevent: status\ndata: {}\n\n",
        data(queued_job()),
        json!({"job_id": queued_job()["job_id"], "queue_position": 2}),
        data(done_job())
    )
    .into()
}
