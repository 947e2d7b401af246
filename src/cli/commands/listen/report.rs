//! Formats the output about one received delivery.

use crate::cli::output::{escape_control_chars, field_lines, truncate};
use crate::webhooks::{DeliveryFile, SignatureReport};
use actix_web::http::StatusCode;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tintype_api::BatchCounts;
use tintype_storage::domain::operator_event::EventType;
use tintype_storage::domain::time::Timestamp;

/// The server does not reveal this secret.
const OPERATOR_SECRET_HINT: &str = "an operator event is signed with webhook_secret in [operator] of the server's configuration; \
                                    give it with --secret";
/// Maximum characters shown of a body that is not a payload.
const MAX_CHARS: usize = 400;

pub struct Report<'a> {
    /// Time of arrival.
    pub at: Timestamp,
    pub path: &'a str,
    pub delivery: &'a DeliveryFile<'a>,
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// Of the response.
    pub status: StatusCode,
    /// An error if the receiver could not verify.
    pub signatures: anyhow::Result<SignatureReport>,
}

/// The payload of a job or a batch. `metadata` stays raw, so that a number loses no digits.
#[derive(Deserialize)]
struct Payload<'a> {
    job_id: Option<String>,
    batch_id: Option<String>,
    status: String,
    counts: Option<BatchCounts>,
    result: Option<ImageResult>,
    error: Option<String>,
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
}

/// The payload of an operator event.
#[derive(Deserialize)]
struct OperatorEvent<'a> {
    #[serde(rename = "type")]
    word: String,
    created_at: String,
    #[serde(borrow)]
    data: &'a RawValue,
}

#[derive(Deserialize)]
struct ImageResult {
    image_url: String,
}

impl Report<'_> {
    /// Indented lines for people.
    pub fn text(&self) -> String {
        let signed = self.delivery.signed_headers();
        let sent = signed.x_timestamp.or(signed.webhook_timestamp);
        let body = self.delivery.body;
        let size = format!("{} bytes", body.len());
        let payload: Option<Payload<'_>> = serde_json::from_slice(body).ok();
        let event: Option<OperatorEvent<'_>> = serde_json::from_slice(body).ok();
        let event = event.filter(|it| it.word.parse::<EventType>().is_ok());
        let mut lines = vec![("delivery", signed.webhook_id), ("sent at", sent)];
        let excerpt;
        let counts = payload.as_ref().and_then(|it| it.counts.as_ref());
        let counts = counts.map(|it| format!("{} done, {} failed", it.done, it.failed));
        match (&payload, &event) {
            (Some(it), _) => lines.extend([
                ("job", it.job_id.as_deref()),
                ("batch", it.batch_id.as_deref()),
                ("status", Some(it.status.as_str())),
                ("jobs", counts.as_deref()),
                ("image", it.result.as_ref().map(|it| it.image_url.as_str())),
                ("error", it.error.as_deref()),
                ("metadata", it.metadata.map(RawValue::get)),
            ]),
            (None, Some(it)) => lines.extend([
                ("event", Some(it.word.as_str())),
                ("created", Some(it.created_at.as_str())),
                ("data", Some(it.data.get())),
            ]),
            (None, None) => {
                excerpt = truncate(&String::from_utf8_lossy(body), MAX_CHARS);
                lines.push(("not a payload", Some(&excerpt)));
            }
        }
        lines.push(("body", Some(&size)));
        let verified = match &self.signatures {
            Ok(signatures) if event.is_some() && signatures.is_mismatch() => {
                let [x_signature, standard] = signatures.lines();
                format!("{x_signature}\n{standard}\n{OPERATOR_SECRET_HINT}")
            }
            Ok(signatures) => signatures.lines().join("\n"),
            Err(error) => format!(
                "not verified: {}",
                escape_control_chars(&format!("{error:#}"))
            ),
        };
        let inner: String = format!("{}{verified}\n", field_lines(&lines))
            .lines()
            .map(|line| format!("  {line}\n"))
            .collect();
        format!(
            "\n{}  {}  attempt {}, response {}\n{inner}",
            self.at,
            escape_control_chars(self.path),
            self.attempt,
            self.status.as_u16()
        )
    }

    /// One JSON line for programs.
    pub fn json(&self) -> String {
        let headers: Map<String, Value> = self
            .delivery
            .headers
            .iter()
            .map(|(name, value)| (name.to_string(), json!(value)))
            .collect();
        let (verified, signatures) = match &self.signatures {
            Ok(signatures) => (Some(signatures.verifies()), signatures.lines().into()),
            Err(error) => (None, vec![format!("not verified: {error:#}")]),
        };
        let line = json!({
            "at": self.at.to_string(),
            "path": self.path,
            "attempt": self.attempt,
            "answered": self.status.as_u16(),
            "verified": verified,
            "signatures": signatures,
            "headers": headers,
            "body": String::from_utf8_lossy(self.delivery.body),
        });
        format!("{line}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tintype_storage::webhook_wire::verification::{Refusal, SignedText};

    fn report(body: &str, signatures: anyhow::Result<SignatureReport>) -> [String; 2] {
        let delivery = DeliveryFile {
            headers: vec![("webhook-id", "d1"), ("x-timestamp", "1795000000")],
            body: body.as_bytes(),
        };
        let report = Report {
            at: Timestamp::from_millis(1_795_000_000_000),
            path: "/hook",
            delivery: &delivery,
            attempt: 2,
            status: StatusCode::OK,
            signatures,
        };
        [report.text(), report.json()]
    }

    fn good() -> anyhow::Result<SignatureReport> {
        Ok(SignatureReport {
            x_signature: Ok(SignedText::Raw),
            standard: Ok(()),
        })
    }

    #[test]
    fn a_delivery_is_printed_in_full_and_as_received() {
        let body = r#"{"error":null,"job_id":"j1","metadata":{"n":12345678901234567890123,"s":"\u001b"},"result":{"image_url":"http://x/1.png"},"status":"done"}"#;
        let [text, json] = report(body, good());
        insta::assert_snapshot!(text);
        let line: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json.matches('\n').count(), 1);
        assert_eq!(
            (&line["body"], &line["verified"]),
            (&json!(body), &json!(true))
        );
        assert_eq!(line["headers"]["webhook-id"], "d1");
    }

    #[test]
    fn the_end_of_a_batch_is_printed_with_its_counts() {
        let body = r#"{"batch_id":"b1","counts":{"done":998,"failed":2,"processing":0,"queued":0,"total":1000},"metadata":null,"status":"ended"}"#;
        let [text, _] = report(body, good());
        for line in [
            "  batch     b1",
            "  status    ended",
            "  jobs      998 done, 2 failed",
        ] {
            assert!(text.lines().any(|it| it == line), "{text}");
        }
    }

    #[test]
    fn an_operator_event_is_printed_with_its_type_and_data() {
        let body = r#"{"created_at":"2026-11-20T20:00:00.000Z","data":{"free_bytes":7},"type":"disk.low","version":1}"#;
        let [text, _] = report(body, good());
        for line in ["  event     disk.low", r#"  data      {"free_bytes":7}"#] {
            assert!(text.lines().any(|it| it == line), "{text}");
        }
        assert!(
            !text.contains("not a payload") && !text.contains("--secret"),
            "{text}"
        );
        let other = SignatureReport {
            x_signature: Err(Refusal::Mismatch),
            standard: Err(Refusal::Mismatch),
        };
        let [text, _] = report(body, Ok(other));
        assert!(text.contains("webhook_secret in [operator]"), "{text}");
    }

    #[test]
    fn a_body_that_is_not_a_payload_cannot_control_the_terminal() {
        let [text, json] = report("\u{1b}[2J{", Err(anyhow::anyhow!("no\nserver")));
        insta::assert_snapshot!(text);
        let line: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(line["verified"], Value::Null);
    }
}
