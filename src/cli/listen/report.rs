//! The output about one received delivery.

use super::super::output::{facts, printable, shortened};
use crate::webhooks::{DeliveryFile, SignatureReport};
use actix_web::http::StatusCode;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tintype_api::BatchCounts;
use tintype_storage::domain::time::Timestamp;

/// Longest excerpt of a body that is not a payload, in characters.
const MAX_CHARS: usize = 400;

/// One attempt as it was received and answered.
pub struct Report<'a> {
    /// When it arrived.
    pub at: Timestamp,
    /// The path of the request.
    pub path: &'a str,
    /// Headers and body.
    pub recorded: &'a DeliveryFile<'a>,
    /// The response.
    pub answered: Answered,
    /// The result of verifying; an error says why that was not possible.
    pub signatures: anyhow::Result<SignatureReport>,
}

/// The response to an attempt.
#[derive(Clone, Copy)]
pub struct Answered {
    /// Number of the attempt, from 1.
    pub number: u32,
    /// The status.
    pub status: StatusCode,
}

/// The payload of a job or of a batch. `metadata` stays as received, so that a number loses no digits.
#[derive(Deserialize)]
struct Payload<'a> {
    job_id: Option<String>,
    batch_id: Option<String>,
    status: String,
    counts: Option<BatchCounts>,
    result: Option<Picture>,
    error: Option<String>,
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Picture {
    image_url: String,
}

impl Report<'_> {
    /// Lines for a person.
    pub fn text(&self) -> String {
        let signed = self.recorded.signed();
        let sent = signed.x_timestamp.or(signed.webhook_timestamp);
        let body = self.recorded.body;
        let size = format!("{} bytes", body.len());
        let payload: Result<Payload<'_>, _> = serde_json::from_slice(body);
        let mut lines = vec![("delivery", signed.webhook_id), ("sent at", sent)];
        let unread;
        let counts = payload.as_ref().ok().and_then(|it| it.counts.as_ref());
        let counts = counts.map(|it| format!("{} done, {} failed", it.done, it.failed));
        match &payload {
            Ok(it) => lines.extend([
                ("job", it.job_id.as_deref()),
                ("batch", it.batch_id.as_deref()),
                ("status", Some(it.status.as_str())),
                ("jobs", counts.as_deref()),
                ("image", it.result.as_ref().map(|it| it.image_url.as_str())),
                ("error", it.error.as_deref()),
                ("metadata", it.metadata.map(RawValue::get)),
            ]),
            Err(_) => {
                unread = shortened(&String::from_utf8_lossy(body), MAX_CHARS);
                lines.push(("not a payload", Some(&unread)));
            }
        }
        lines.push(("body", Some(&size)));
        let verified = match &self.signatures {
            Ok(signatures) => signatures.lines().join("\n"),
            Err(error) => format!("not verified: {}", printable(&format!("{error:#}"))),
        };
        let inner: String = format!("{}{verified}\n", facts(&lines))
            .lines()
            .map(|line| format!("  {line}\n"))
            .collect();
        format!(
            "\n{}  {}  attempt {}, answered {}\n{inner}",
            self.at,
            printable(self.path),
            self.answered.number,
            self.answered.status.as_u16()
        )
    }

    /// One line for a program.
    pub fn json(&self) -> String {
        let headers: Map<String, Value> = self
            .recorded
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
            "attempt": self.answered.number,
            "answered": self.answered.status.as_u16(),
            "verified": verified,
            "signatures": signatures,
            "headers": headers,
            "body": String::from_utf8_lossy(self.recorded.body),
        });
        format!("{line}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tintype_storage::domain::verification::SignedText;

    fn report(body: &str, signatures: anyhow::Result<SignatureReport>) -> [String; 2] {
        let recorded = DeliveryFile {
            headers: vec![("webhook-id", "d1"), ("x-timestamp", "1795000000")],
            body: body.as_bytes(),
        };
        let report = Report {
            at: Timestamp::from_millis(1_795_000_000_000),
            path: "/hook",
            recorded: &recorded,
            answered: Answered {
                number: 2,
                status: StatusCode::OK,
            },
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
    fn a_body_that_is_not_a_payload_cannot_control_the_terminal() {
        let [text, json] = report("\u{1b}[2J{", Err(anyhow::anyhow!("no\nserver")));
        insta::assert_snapshot!(text);
        let line: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(line["verified"], Value::Null);
    }
}
