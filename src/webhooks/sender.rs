//! One attempt of a delivery: the body, its signatures, one POST through the address gate, and what came of it.

use super::vault::Vault;
use crate::egress::{Egress, EgressFault, parse_url};
use crate::images::Images;
use crate::words;
use futures_util::FutureExt as _;
use futures_util::StreamExt as _;
use futures_util::future::LocalBoxFuture;
use std::time::{Duration, Instant};
use tintype_actors::clock::Clock;
use tintype_actors::transport::Transport;
use tintype_storage::domain::canonical::canonical;
use tintype_storage::domain::delivery::{Attempt, Delivery, DeliveryKind, Sent};
use tintype_storage::domain::job::{Brief, Job, JobState};
use tintype_storage::domain::json::Json;
use tintype_storage::domain::payload::{self, Ending};
use tintype_storage::domain::request::MAX_METADATA_DEPTH;
use tintype_storage::domain::secret::Secret;
use tintype_storage::domain::signature::{standard_signature, x_signature};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::Webhook;
use tintype_storage::store::Store;
use tokio::time::timeout;

/// Bytes of an answer that are read. The rest is left unread, and takes nothing away from the status: a receiver that
/// answers 2xx has the delivery, however much it has to say about it.
const MAX_ANSWER_BYTES: usize = 64 * 1024;
const USER_AGENT: &str = concat!("tintype/", env!("CARGO_PKG_VERSION"));

/// What attempts are made with.
#[derive(Clone)]
pub struct SenderOptions {
    /// Jobs are read from here.
    pub store: Store,
    /// Signs the download URLs, and holds the words that were too large for a record.
    pub images: Images,
    /// Opens the secrets.
    pub vault: Vault,
    /// The way out.
    pub egress: Egress,
    /// The moment.
    pub clock: Clock,
    /// For the whole exchange of one attempt.
    pub timeout: Duration,
    /// How long the download URL in the body is valid.
    pub url_lifetime: Duration,
}

/// Posts deliveries over HTTP.
pub struct Sender {
    options: SenderOptions,
}

impl Sender {
    /// A sender with these parts.
    pub fn new(options: SenderOptions) -> Self {
        Self { options }
    }
}

impl Transport for Sender {
    fn attempt(&self, delivery: Delivery, webhook: Webhook) -> LocalBoxFuture<'static, Attempt> {
        attempt(self.options.clone(), delivery, webhook).boxed_local()
    }
}

/// What went out and came back before anything went wrong.
#[derive(Default)]
struct Answer {
    sent: Option<Sent>,
    status: Option<u16>,
    body: Vec<u8>,
}

async fn attempt(options: SenderOptions, delivery: Delivery, webhook: Webhook) -> Attempt {
    let (began, at) = (Instant::now(), (options.clock)());
    let mut answer = Answer::default();
    let limit = options.timeout;
    let outcome = timeout(
        limit,
        exchange(&options, &delivery, &webhook, at, &mut answer),
    )
    .await;
    let error = match outcome {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(error),
        Err(_) => Some(format!(
            "no complete answer within {} s",
            limit.as_secs_f32()
        )),
    };
    let took = began.elapsed();
    let sent = answer.sent.take();
    let attempt = match answer.status {
        Some(status) => Attempt::answered(
            delivery.round,
            at,
            took,
            status,
            &answer.body,
            error.as_deref(),
        ),
        None => Attempt::broken(
            delivery.round,
            at,
            took,
            error.as_deref().unwrap_or("no answer"),
        ),
    };
    attempt.with_sent(sent)
}

async fn exchange(
    options: &SenderOptions,
    delivery: &Delivery,
    webhook: &Webhook,
    at: Timestamp,
    answer: &mut Answer,
) -> Result<(), String> {
    let body = canonical(&payload(options, delivery, at).await?, webhook.encoding);
    let secrets = secrets(options, webhook, at)?;
    let id = delivery.id.to_string();
    let seconds = at.seconds();
    let newest = secrets.first().ok_or("the webhook has no secret")?;
    let url = parse_url(&webhook.url).map_err(|fault| format!("the URL {fault}"))?;
    options
        .egress
        .gate()
        .check_host(&url)
        .map_err(|_| "the URL is not at a public address".to_owned())?;
    let signature = x_signature(newest, seconds, &body);
    let listed = standard_signature(&secrets, &id, seconds, &body);
    answer.sent = Some(Sent::new(signature.clone(), listed.clone(), &body));
    let request = options
        .egress
        .client()
        .post(url.as_str())
        // A kept connection would be looked after only when its receiver is called again, and may be closed by then.
        .force_close()
        .insert_header(("Content-Type", "application/json"))
        .insert_header(("User-Agent", USER_AGENT))
        .insert_header(("X-Signature", signature))
        .insert_header(("X-Timestamp", seconds.to_string()))
        .insert_header(("webhook-id", id.as_str()))
        .insert_header(("webhook-timestamp", seconds.to_string()))
        .insert_header(("webhook-signature", listed));
    let mut response = request
        .send_body(body)
        .await
        .map_err(|error| EgressFault::from(&error).to_string())?;
    answer.status = Some(response.status().as_u16());
    while answer.body.len() < MAX_ANSWER_BYTES {
        match response.next().await {
            Some(Ok(chunk)) => {
                let room = MAX_ANSWER_BYTES - answer.body.len();
                answer
                    .body
                    .extend_from_slice(&chunk[..chunk.len().min(room)]);
            }
            // The status has come: where its words break off, they end.
            Some(Err(_)) | None => break,
        }
    }
    Ok(())
}

/// What the delivery tells, with a fresh download URL.
async fn payload(
    options: &SenderOptions,
    delivery: &Delivery,
    at: Timestamp,
) -> Result<Json, String> {
    if delivery.kind == DeliveryKind::Test {
        return Ok(payload::test(delivery.job));
    }
    let read = options
        .store
        .job(delivery.account, delivery.job)
        .map_err(|error| error.to_string())?;
    let job = read.ok_or("the job of this delivery is no longer on record")?;
    let metadata = metadata(options, &job).await?;
    match &job.state {
        JobState::Done { image, .. } => {
            let url = options
                .images
                .presign(&image.key, at.to_datetime(), options.url_lifetime)
                .await;
            let url = url.map_err(|error| {
                tracing::error!(%error, "a download URL could not be signed");
                "the download URL could not be signed".to_owned()
            })?;
            Ok(payload::event(
                job.id,
                Ending::Done { image_url: &url },
                metadata.as_ref(),
            ))
        }
        JobState::Failed { error, .. } => Ok(payload::event(
            job.id,
            Ending::Failed { error },
            metadata.as_ref(),
        )),
        JobState::Queued | JobState::Processing { .. } => {
            Err("the job of this delivery has not ended".into())
        }
    }
}

async fn metadata(options: &SenderOptions, job: &Job) -> Result<Option<Json>, String> {
    let text = match &job.brief {
        Brief::Inline(words) => words.metadata.clone(),
        Brief::Stored(key) => {
            let words = words::load(&options.images, key).await.map_err(|error| {
                tracing::error!(%key, %error, "the words of a job cannot be read");
                "the metadata could not be read from the object store".to_owned()
            })?;
            words.metadata
        }
    };
    text.map(|text| Json::parse(&text, MAX_METADATA_DEPTH))
        .transpose()
        .map_err(|fault| format!("the metadata {fault}"))
}

fn secrets(
    options: &SenderOptions,
    webhook: &Webhook,
    at: Timestamp,
) -> Result<Vec<Secret>, String> {
    let open = |sealed| {
        options
            .vault
            .open(webhook.id, sealed)
            .map_err(|error| error.to_string())
    };
    webhook.signing_secrets(at).into_iter().map(open).collect()
}
