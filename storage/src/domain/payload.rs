//! What a webhook receives (specification, "Payload").
//!
//! It is built anew for each attempt: `image_url` is signed anew each time, and everything else is in the job.

use super::batch::{BatchProgress, BatchStatus};
use super::ids::{BatchId, JobId};
use super::json::Json;

/// How a job ended, as the webhook says it. Our own texts are plain ASCII, so that two verifiers never disagree about them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending<'a> {
    /// There is a picture.
    Done {
        /// Where it can be fetched, percent-encoded.
        image_url: &'a str,
    },
    /// There is none.
    Failed { error: &'a str },
}

/// The payload of a job's event. `metadata` is the caller's object as it was given.
pub fn event(job: JobId, ending: Ending<'_>, metadata: Option<&Json>) -> Json {
    let metadata = metadata.map_or(Json::Null, without_private);
    match ending {
        Ending::Done { image_url } => {
            let result = object([("image_url", Json::String(image_url.into()))]);
            payload(job, "done", result, Json::Null, metadata)
        }
        Ending::Failed { error } => {
            let error = Json::String(error.into());
            payload(job, "failed", Json::Null, error, metadata)
        }
    }
}

/// The payload of a batch's end. `metadata` is the caller's object as it was given.
pub fn batch_ended(batch: BatchId, progress: &BatchProgress, metadata: Option<&Json>) -> Json {
    let number = |count: u64| Json::Number(count.to_string());
    let counts = object([
        ("total", number(progress.total())),
        ("queued", number(progress.queued.into())),
        ("processing", number(progress.processing.into())),
        ("done", number(progress.done.into())),
        ("failed", number(progress.failed.into())),
    ]);
    object([
        ("batch_id", Json::String(batch.to_string())),
        ("status", Json::String(BatchStatus::Ended.word().into())),
        ("counts", counts),
        ("metadata", metadata.map_or(Json::Null, without_private)),
    ])
}

/// The payload of a test delivery, about a job that never was.
pub fn test(job: JobId) -> Json {
    let metadata = object([("test", Json::Bool(true))]);
    payload(job, "done", Json::Null, Json::Null, metadata)
}

fn payload(job: JobId, status: &str, result: Json, error: Json, metadata: Json) -> Json {
    object([
        ("job_id", Json::String(job.to_string())),
        ("status", Json::String(status.into())),
        ("result", result),
        ("error", error),
        ("metadata", metadata),
    ])
}

/// The object without its own names that begin with `_`. Those of objects inside it are the caller's own affair and stay.
fn without_private(metadata: &Json) -> Json {
    match metadata {
        Json::Object(members) => Json::Object(
            members
                .iter()
                .filter(|(name, _)| !name.starts_with('_'))
                .cloned()
                .collect(),
        ),
        other => other.clone(),
    }
}

fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
    Json::Object(members.map(|(name, value)| (name.into(), value)).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::canonical::{Encoding, canonical};
    use uuid::Uuid;

    const JOB: JobId = JobId(Uuid::nil());
    const ID: &str = r#""job_id":"00000000-0000-0000-0000-000000000000""#;

    fn text(payload: &Json) -> String {
        canonical(payload, Encoding::Ascii)
    }

    #[test]
    fn every_field_is_there_and_null_where_it_has_no_value() {
        let url = "https://x/files/a.png?expires=1&signature=2";
        assert_eq!(
            text(&event(JOB, Ending::Done { image_url: url }, None)),
            format!(
                r#"{{"error":null,{ID},"metadata":null,"result":{{"image_url":"{url}"}},"status":"done"}}"#
            )
        );
        assert_eq!(
            text(&event(JOB, Ending::Failed { error: "no" }, None)),
            format!(r#"{{"error":"no",{ID},"metadata":null,"result":null,"status":"failed"}}"#)
        );
        assert_eq!(
            text(&test(JOB)),
            format!(
                r#"{{"error":null,{ID},"metadata":{{"test":true}},"result":null,"status":"done"}}"#
            )
        );
    }

    #[test]
    fn private_names_go_at_the_top_only() {
        for (given, sent) in [
            (
                r#"{"_a":1,"b_":{"_c":[{"_d":2}]},"__proto__":3,"_":4}"#,
                r#"{"b_":{"_c":[{"_d":2}]}}"#,
            ),
            (r#"{"_a":1}"#, "{}"),
            ("{}", "{}"),
        ] {
            let metadata = Json::parse(given, 32).unwrap();
            let payload = event(JOB, Ending::Failed { error: "" }, Some(&metadata));
            assert!(
                text(&payload).contains(&format!(r#""metadata":{sent},"#)),
                "{given}"
            );
        }
    }
}
