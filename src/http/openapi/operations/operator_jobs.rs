//! Describes the operator's calls on jobs.

use super::examples::{canceled_job, done_job, page, record, record_without_image};
use crate::http::openapi::{DocumentBuilder, Operation, ResponseDoc, date_time, uuid};
use crate::web::problem::Code;
use serde_json::json;
use tintype_api::JobRecord;
use tintype_api::schema::words;
use tintype_storage::domain::job::JobStatus;
use tintype_storage::domain::tier::{Mode, Tier};

const ACCOUNT: &str = "The job's account. Without it the service searches all accounts, which takes long if there are very many.";

pub fn list(builder: &mut DocumentBuilder<'_>) -> Operation {
    Operation::new("listJobs", "Jobs", "List jobs of all accounts")
        .text("Newest first. A page scans at most 10,000 jobs over all accounts, or 500 with `metadata`, and may end early with a `next_cursor`.")
        .window()
        .query("account_id", "Only jobs of this account.", uuid())
        .query("status", "Only jobs in this state.", words(JobStatus::names()))
        .query("tier", "Only jobs of this model.", words(Tier::names()))
        .query("mode", "Only jobs with input images, or without.", words(Mode::names()))
        .query("key_id", "Only jobs of this key.", uuid())
        .query("batch_id", "Only jobs of this batch.", uuid())
        .query("from", "Only jobs from this time on.", date_time())
        .query("to", "Only jobs up to this time.", date_time())
        .query("key", "As `key_id`.", uuid())
        .query("created_after", "As `from`.", date_time())
        .query("created_before", "Only jobs before this time.", date_time())
        .deep_query(
            "metadata",
            "Only jobs whose metadata has these members.",
            json!({"type": "object", "maxProperties": 10, "additionalProperties": {"type": "string"}}),
            json!({"order": "4711"}),
        )
        .response(builder.page::<JobRecord<'static>>("A page of jobs.", page(record(done_job()))))
        .refuses([Code::StorageUnavailable])
}

pub fn show(builder: &mut DocumentBuilder<'_>) -> Operation {
    Operation::new("showJob", "Jobs", "Get a job")
        .query("account_id", ACCOUNT, uuid())
        .response(builder.response::<JobRecord<'static>>(
            200,
            "The full record of the job.",
            record(done_job()),
        ))
        .refuses([Code::ValidationFailed, Code::StorageUnavailable])
}

pub fn cancel(builder: &mut DocumentBuilder<'_>) -> Operation {
    let example = record_without_image(canceled_job());
    Operation::new("cancelJob", "Jobs", "Cancel a job")
        .text("Releases the price at once and sends the webhook. A job that has started or ended is not canceled: `409`.")
        .query(
            "account_id",
            ACCOUNT,
            uuid(),
        )
        .response(builder.response::<JobRecord<'static>>(200, "The job, now `failed`.", example))
        .refuses([Code::ValidationFailed, Code::Conflict])
}

pub fn delete_image(builder: &mut DocumentBuilder<'_>) -> Operation {
    super::jobs::delete_image(builder)
        .query("account_id", ACCOUNT, uuid())
        .refuses([Code::ValidationFailed])
}

pub fn erase(_: &mut DocumentBuilder<'_>) -> Operation {
    Operation::new("eraseJob", "Jobs", "Erase the content of a job")
        .text("Deletes the personal data of a job that has ended: prompt, metadata, `callback_url`, `custom_id`, input URLs, the text of the error, the image with its thumbnails, \
            the words in the search index, and what the attempts of its delivery have sent and received. The job stays, with its status, price, model, key and times, and so does its charge; `prompt` is then `null`. \
            A pending delivery is still sent, with `metadata` `null`. A repeated call returns the same. A job that has not ended: `409`.")
        .query("account_id", ACCOUNT, uuid())
        .response(ResponseDoc::new(204, "The content is erased."))
        .refuses([Code::ValidationFailed, Code::Conflict, Code::StorageUnavailable])
}
