//! The vectors of `tests/webhooks/golden.json`: complete deliveries, which verifiers in other languages check too.
//!
//! `TINTYPE_UPDATE_GOLDEN=1 cargo test -p tintype-storage golden` rewrites the file after an intended change.

use super::canonical::canonical;
use super::payload::{self, Ending};
use super::secret::WebhookSecret;
use super::signature::{standard_signature, x_signature};
use super::verification::{Headers, SignedText, verify_standard, verify_x_signature};
use crate::domain::ids::JobId;
use crate::domain::request::MAX_METADATA_DEPTH;
use crate::domain::time::Timestamp;
use crate::domain::webhook::Encoding;
use crate::json::Json;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use uuid::{Builder, Uuid};

mod cases;

use cases::{Case, Kind, cases};

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/webhooks/golden.json");
const FIRST_SENT: i64 = 1_795_000_000;
const IMAGE_URL: &str =
    "https://tintype.example/files/results%2Fa.png?expires=1795086400&signature=00ff";
const ERROR: &str = "blocked for safety: the prompt asks for \"more\" than <this> & that";

fn secret(text: &str) -> WebhookSecret {
    WebhookSecret::from_random(Sha256::digest(text).into())
}

/// A version 7 id that every run reproduces, so the file changes only with the behaviour.
fn named(name: &str) -> Uuid {
    let random = Sha256::digest(name)[..10].try_into().unwrap();
    Builder::from_unix_timestamp_millis(FIRST_SENT as u64 * 1000, &random).into_uuid()
}

fn vector(number: usize, case: &Case, encoding: Encoding) -> Value {
    let name = format!("{}, {}", case.name, encoding.as_str());
    let job = JobId(named(&name));
    let id = named(&format!("delivery {name}"));
    let timestamp = FIRST_SENT + number as i64;
    let mut secrets = vec![secret(&name)];
    if case.rotated {
        secrets.push(secret(&format!("{name}, before")));
    }
    let metadata = case
        .metadata
        .as_ref()
        .map(|it| Json::parse(it, MAX_METADATA_DEPTH).unwrap());
    let payload = match case.kind {
        Kind::Done => payload::job_ended(
            job,
            Ending::Done {
                image_url: IMAGE_URL,
            },
            metadata.as_ref(),
        ),
        Kind::Failed => payload::job_ended(job, Ending::Failed { error: ERROR }, metadata.as_ref()),
        Kind::Test => payload::test(job),
    };
    let body = canonical(&payload, encoding);
    json!({
        "name": name,
        "encoding": encoding.as_str(),
        "differs": case.differs,
        "job_id": job.to_string(),
        "kind": match case.kind { Kind::Done => "done", Kind::Failed => "failed", Kind::Test => "test" },
        "image_url": matches!(case.kind, Kind::Done).then_some(IMAGE_URL),
        "error": matches!(case.kind, Kind::Failed).then_some(ERROR),
        "metadata": case.metadata,
        "secrets": secrets.iter().map(WebhookSecret::text).collect::<Vec<_>>(),
        "webhook_id": id.to_string(),
        "timestamp": timestamp,
        "body": body,
        "x_signature": x_signature(&secrets[0], timestamp, &body),
        "webhook_signature": standard_signature(&secrets, &id.to_string(), timestamp, &body),
    })
}

fn all() -> Value {
    let both = cases()
        .into_iter()
        .flat_map(|case| Encoding::ALL.map(|encoding| (case.clone(), encoding)));
    let vectors: Vec<Value> = both
        .enumerate()
        .map(|(number, (case, encoding))| vector(number, &case, encoding))
        .collect();
    json!({
        "note": "metadata: the request's own text. body: the exact bytes sent. secrets: newest first. differs: what keeps \
                 some verifiers that re-serialize from this text; the raw bytes verify always. The secrets are hashes of the names and belong to no webhook.",
        "vectors": vectors,
    })
}

#[test]
fn every_delivery_is_as_recorded() {
    let text = format!("{}\n", serde_json::to_string_pretty(&all()).unwrap());
    if std::env::var_os("TINTYPE_UPDATE_GOLDEN").is_some() {
        std::fs::write(PATH, text).unwrap();
        return;
    }
    let recorded = std::fs::read_to_string(PATH).unwrap();
    for (at, (recorded, now)) in recorded.lines().zip(text.lines()).enumerate() {
        assert_eq!(recorded, now, "line {} of {PATH}", at + 1);
    }
    assert_eq!(recorded.len(), text.len());
}

#[test]
fn every_recorded_delivery_verifies_with_each_of_its_secrets() {
    let recorded: Value = serde_json::from_str(&std::fs::read_to_string(PATH).unwrap()).unwrap();
    let vectors = recorded["vectors"].as_array().unwrap();
    assert!(vectors.len() >= 120);
    for vector in vectors {
        let name = &vector["name"];
        let text = |field: &str| vector[field].as_str().unwrap();
        let timestamp = vector["timestamp"].to_string();
        let headers = Headers {
            x_signature: Some(text("x_signature")),
            x_timestamp: Some(&timestamp),
            webhook_id: Some(text("webhook_id")),
            webhook_timestamp: Some(&timestamp),
            webhook_signature: Some(text("webhook_signature")),
        };
        let now = Timestamp::from_millis(vector["timestamp"].as_i64().unwrap() * 1000);
        let body = text("body").as_bytes();
        for (age, shown) in vector["secrets"].as_array().unwrap().iter().enumerate() {
            let secret = WebhookSecret::parse(shown.as_str().unwrap()).unwrap();
            assert_eq!(
                verify_standard(&secret, &headers, body, now),
                Ok(()),
                "{name}"
            );
            let signed = verify_x_signature(&secret, &headers, body, now);
            assert_eq!(
                signed.is_ok(),
                age == 0,
                "{name}: the newest alone signs X-Signature"
            );
            assert!(age > 0 || signed == Ok(SignedText::Raw), "{name}");
        }
    }
}
