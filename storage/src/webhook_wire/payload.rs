//! The webhook payload (specification, "Payload").
//!
//! Each attempt builds it anew, because `image_url` is signed anew; the job holds everything else.

use crate::domain::batch::{BatchProgress, BatchStatus};
use crate::domain::delivery::DeliveryKind;
use crate::domain::ids::{BatchId, JobId};
use crate::domain::operator_event::{EVENT_VERSION, EventSubject, OperatorEvent};
use crate::json::Json;

/// How a job ended. Our own texts are plain ASCII, so that every verifier reads them alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending<'a> {
    Done {
        /// The download URL, percent-encoded.
        image_url: &'a str,
    },
    Failed {
        error: &'a str,
    },
}

/// The payload of a job's event. `metadata` is the caller's object, unchanged.
pub fn job_ended(job: JobId, ending: Ending<'_>, metadata: Option<&Json>) -> Json {
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

/// The payload of a batch's event. `metadata` is the caller's object, unchanged.
pub fn batch_ended(batch: BatchId, progress: &BatchProgress, metadata: Option<&Json>) -> Json {
    let counts = object([
        ("total", number(progress.total())),
        ("queued", number(progress.queued.into())),
        ("processing", number(progress.processing.into())),
        ("done", number(progress.done.into())),
        ("failed", number(progress.failed.into())),
    ]);
    object([
        ("batch_id", Json::String(batch.to_string())),
        ("status", Json::String(BatchStatus::Ended.as_str().into())),
        ("counts", counts),
        ("metadata", metadata.map_or(Json::Null, without_private)),
    ])
}

/// The payload of a test delivery. The job does not exist.
pub fn test(job: JobId) -> Json {
    let metadata = object([("test", Json::Bool(true))]);
    payload(job, "done", Json::Null, Json::Null, metadata)
}

pub fn operator_event(event: &OperatorEvent) -> Json {
    object([
        ("version", number(EVENT_VERSION.into())),
        ("type", text(event.subject.as_str())),
        ("created_at", text(event.created_at)),
        ("data", event_data(&event.subject)),
    ])
}

fn event_data(subject: &EventSubject) -> Json {
    match subject {
        EventSubject::Test => Json::Object(Vec::new()),
        EventSubject::LowBalance {
            account,
            name,
            balance,
            reserved,
            available,
            low_balance,
        } => object([
            ("account_id", text(account)),
            ("name", text(name)),
            ("balance", text(balance)),
            ("reserved", text(reserved)),
            ("available", text(available)),
            ("low_balance", text(low_balance)),
        ]),
        EventSubject::BackendDown {
            backend,
            failures,
            error,
        } => object([
            ("backend", text(backend)),
            ("failures", number((*failures).into())),
            ("error", or_null(error.as_ref().map(text))),
        ]),
        EventSubject::BackendUp {
            backend,
            down_since,
        } => object([("backend", text(backend)), ("down_since", text(down_since))]),
        EventSubject::DeliveryFailed {
            delivery,
            kind,
            about,
            account,
            webhook,
            url,
            attempts,
            status_code,
            error,
        } => {
            let is_batch = *kind == DeliveryKind::Batch;
            let id = |is_it: bool| or_null(is_it.then(|| text(about.hyphenated())));
            object([
                ("delivery_id", text(delivery)),
                ("account_id", text(account)),
                ("webhook_id", text(webhook)),
                ("url", text(url)),
                ("job_id", id(!is_batch)),
                ("batch_id", id(is_batch)),
                ("attempts", number((*attempts).into())),
                (
                    "status_code",
                    or_null(status_code.map(|it| number(it.into()))),
                ),
                ("error", or_null(error.as_ref().map(text))),
            ])
        }
        EventSubject::DiskLow {
            data_dir,
            free_bytes,
            low_bytes,
        } => object([
            ("data_dir", text(data_dir)),
            ("free_bytes", number(*free_bytes)),
            ("low_bytes", number(*low_bytes)),
        ]),
    }
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

/// Removes top-level members whose names begin with `_`. Members of nested objects stay.
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

fn number(number: u64) -> Json {
    Json::Number(number.to_string())
}

fn text(text: impl ToString) -> Json {
    Json::String(text.to_string())
}

fn or_null(value: Option<Json>) -> Json {
    value.unwrap_or(Json::Null)
}

fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
    Json::Object(members.map(|(name, value)| (name.into(), value)).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::delivery::DeliveryId;
    use crate::domain::ids::AccountId;
    use crate::domain::time::Timestamp;
    use crate::domain::webhook::{Encoding, WebhookId};
    use crate::webhook_wire::canonical::canonical;
    use uuid::Uuid;

    const JOB: JobId = JobId(Uuid::nil());
    const ID: &str = r#""job_id":"00000000-0000-0000-0000-000000000000""#;

    fn written(payload: &Json) -> String {
        canonical(payload, Encoding::Ascii)
    }

    #[test]
    fn every_field_is_present_and_null_if_it_has_no_value() {
        let url = "https://x/files/a.png?expires=1&signature=2";
        assert_eq!(
            written(&job_ended(JOB, Ending::Done { image_url: url }, None)),
            format!(
                r#"{{"error":null,{ID},"metadata":null,"result":{{"image_url":"{url}"}},"status":"done"}}"#
            )
        );
        assert_eq!(
            written(&job_ended(JOB, Ending::Failed { error: "no" }, None)),
            format!(r#"{{"error":"no",{ID},"metadata":null,"result":null,"status":"failed"}}"#)
        );
        assert_eq!(
            written(&test(JOB)),
            format!(
                r#"{{"error":null,{ID},"metadata":{{"test":true}},"result":null,"status":"done"}}"#
            )
        );
    }

    #[test]
    fn decisions_14_an_event_for_the_operator_has_its_version_type_moment_and_data() {
        let event = |subject| {
            let created_at = Timestamp::from_millis(1_795_000_000_001);
            written(&operator_event(&OperatorEvent {
                created_at,
                subject,
            }))
        };
        let disk = event(EventSubject::DiskLow {
            data_dir: "/data".into(),
            free_bytes: u64::MAX,
            low_bytes: 1,
        });
        assert_eq!(
            disk,
            r#"{"created_at":"2026-11-18T11:06:40.001Z","data":{"data_dir":"/data","free_bytes":18446744073709551615,"low_bytes":1},"type":"disk.low","version":1}"#
        );
        let batch = event(EventSubject::DeliveryFailed {
            delivery: DeliveryId(Uuid::nil()),
            kind: DeliveryKind::Batch,
            about: Uuid::nil(),
            account: AccountId(Uuid::nil()),
            webhook: WebhookId(Uuid::nil()),
            url: "https://a/".into(),
            attempts: 7,
            status_code: None,
            error: Some("refused".into()),
        });
        let nil = Uuid::nil();
        assert!(batch.contains(&format!(r#""batch_id":"{nil}""#)), "{batch}");
        assert!(
            batch.contains(r#""job_id":null,"status_code":null"#),
            "{batch}"
        );
    }

    #[test]
    fn private_names_are_removed_only_at_the_top_level() {
        for (given, sent) in [
            (
                r#"{"_a":1,"b_":{"_c":[{"_d":2}]},"__proto__":3,"_":4}"#,
                r#"{"b_":{"_c":[{"_d":2}]}}"#,
            ),
            (r#"{"_a":1}"#, "{}"),
            ("{}", "{}"),
        ] {
            let metadata = Json::parse(given, 32).unwrap();
            let payload = job_ended(JOB, Ending::Failed { error: "" }, Some(&metadata));
            assert!(
                written(&payload).contains(&format!(r#""metadata":{sent},"#)),
                "{given}"
            );
        }
    }
}
