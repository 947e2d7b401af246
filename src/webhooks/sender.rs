//! One delivery attempt: builds the body, signs it, and sends it with one POST through the address gate.

use super::vault::{Vault, VaultError};
use crate::objects::ObjectStorage;
use crate::request_text::{self, RequestTextError};
use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use std::time::{Duration, Instant};
use tintype_actors::clock::Clock;
use tintype_actors::ports::{AttemptOutcome, Transport};
use tintype_egress::header::{HeaderMap, HeaderName, HeaderValue};
use tintype_egress::{Client, Error, Method, parse_url};
use tintype_storage::domain::delivery::{
    Attempt, Delivery, DeliveryId, DeliveryKind, DeliveryState, MAX_EXCERPT_BYTES, SentRequest,
};
use tintype_storage::domain::ids::{AccountId, BatchId, JobId};
use tintype_storage::domain::job::{JobState, PromptRef, PromptText};
use tintype_storage::domain::request::MAX_METADATA_DEPTH;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::Webhook;
use tintype_storage::json::Json;
use tintype_storage::store::Store;
use tintype_storage::store::tables::OPERATOR_EVENTS;
use tintype_storage::webhook_wire::canonical::canonical;
use tintype_storage::webhook_wire::payload::{self, Ending};
use tintype_storage::webhook_wire::secret::WebhookSecret;
use tintype_storage::webhook_wire::signature::{standard_signature, x_signature};
use tokio::time::timeout;
use url::Url;

/// The sender reads no more of a response. The status counts nevertheless: a receiver that answers 2xx has the delivery.
const MAX_RESPONSE_BYTES: usize = 64 * 1024;

/// An erasure deletes a text before it changes the record, and may be interrupted in between and repeated. A delivery waits so long for a
/// change of a record whose text is gone. After that, the text is lost.
const LONGEST_ERASURE: Duration = Duration::from_secs(60 * 60);

/// Posts deliveries over HTTP.
#[derive(Clone)]
pub struct Sender {
    pub store: Store,
    /// Signs the download URLs, and holds request texts that were too large for a record.
    pub objects: ObjectStorage,
    pub vault: Vault,
    pub egress: Client,
    /// Sends to the operator's webhook, which may have any address.
    pub ungated: Client,
    pub clock: Clock,
    /// Of the HTTP exchange of one attempt. Reading the payload from the stores before it may take as long again.
    pub timeout: Duration,
    /// Of the download URL in the body.
    pub url_lifetime: Duration,
}

impl Transport for Sender {
    fn attempt(
        &self,
        delivery: Delivery,
        webhook: Webhook,
    ) -> LocalBoxFuture<'static, AttemptOutcome> {
        attempt(self.clone(), delivery, webhook).boxed_local()
    }
}

/// Why no request was sent.
enum Fault {
    /// A store of this service failed, perhaps transiently. The attempt does not count.
    Own(String),
    /// The delivery itself cannot be sent. The attempt counts as failed.
    Delivery(String),
}

/// For errors of this service's own stores.
fn own(error: impl ToString) -> Fault {
    Fault::Own(error.to_string())
}

/// The progress of an exchange: the request once it is sent, and the response as far as it has arrived.
#[derive(Default)]
struct Exchange {
    sent: Option<SentRequest>,
    status: Option<u16>,
    /// The part of the response body that the attempt stores, and one byte more, which shows that the body goes on.
    body: Vec<u8>,
    /// The length of the response body so far.
    body_bytes: usize,
}

impl Exchange {
    fn add_chunk(&mut self, chunk: &[u8]) {
        self.body_bytes += chunk.len();
        let room = MAX_EXCERPT_BYTES + 1 - self.body.len();
        self.body.extend_from_slice(&chunk[..chunk.len().min(room)]);
    }
}

async fn attempt(sender: Sender, delivery: Delivery, webhook: Webhook) -> AttemptOutcome {
    let limit = sender.timeout;
    // The time of our own stores does not count as the receiver's.
    let payload = match timeout(limit, payload(&sender, &delivery)).await {
        Ok(payload) => payload,
        Err(_) => Err(Fault::Own(format!(
            "the payload could not be read within {} s",
            limit.as_secs_f32()
        ))),
    };
    let (began, at) = (Instant::now(), (sender.clock)());
    let mut exchange = Exchange::default();
    let egress = match delivery.kind {
        DeliveryKind::Operator => &sender.ungated,
        DeliveryKind::Event | DeliveryKind::Test | DeliveryKind::Batch => &sender.egress,
    };
    let request = payload.and_then(|it| request(&sender, &delivery, &webhook, &it, at));
    let outcome = match request {
        Ok(request) => match timeout(limit, send(egress, request, &mut exchange)).await {
            Ok(outcome) => outcome,
            // The receiver has the delivery. Only the rest of its response is missing.
            Err(_) if matches!(exchange.status, Some(200..300)) => Ok(()),
            Err(_) => {
                let limit = limit.as_secs_f32();
                Err(format!("no complete response within {limit} s"))
            }
        },
        Err(Fault::Own(reason)) => return AttemptOutcome::NotSent(reason),
        Err(Fault::Delivery(error)) => Err(error),
    };
    let (round, took, error) = (delivery.round, began.elapsed(), outcome.err());
    let attempt = match exchange.status {
        Some(status) => {
            Attempt::responded(round, at, took, status, &exchange.body, error.as_deref())
        }
        None => Attempt::broken(round, at, took, error.as_deref().unwrap_or("no response")),
    };
    let attempt = attempt.with_sent(exchange.sent);
    AttemptOutcome::Made(attempt.at_url(&webhook.url, &delivery))
}

struct Request {
    url: Url,
    headers: HeaderMap,
    body: String,
    /// The part that the delivery log shows.
    sent: SentRequest,
}

/// Encodes the body as its webhook requires, and signs it.
fn request(
    sender: &Sender,
    delivery: &Delivery,
    webhook: &Webhook,
    payload: &Json,
    at: Timestamp,
) -> Result<Request, Fault> {
    let url =
        parse_url(&webhook.url).map_err(|fault| Fault::Delivery(format!("the URL {fault}")))?;
    let body = canonical(payload, webhook.encoding);
    let secrets = secrets(sender, webhook, at).map_err(own)?;
    let (id, seconds) = (delivery.id.to_string(), at.seconds());
    let newest = secrets.first();
    let newest = newest.ok_or_else(|| Fault::Own("the webhook has no secret".into()))?;
    let signature = x_signature(newest, seconds, &body);
    let standard = standard_signature(&secrets, &id, seconds, &body);
    let sent = SentRequest::new(signature.clone(), standard.clone(), &body);
    let headers = headers(&id, seconds, signature, standard).map_err(Fault::Own)?;
    Ok(Request {
        url,
        headers,
        body,
        sent,
    })
}

async fn send(egress: &Client, request: Request, exchange: &mut Exchange) -> Result<(), String> {
    let Request {
        url,
        headers,
        body,
        sent,
    } = request;
    egress
        .gate()
        .check_host(&url)
        .map_err(|_| Error::NotPublic.to_string())?;
    exchange.sent = Some(sent);
    let response = egress.send_pooled(Method::POST, &url, headers, Bytes::from(body));
    let mut response = response.await.map_err(|fault| fault.to_string())?;
    exchange.status = Some(response.status.as_u16());
    while exchange.body_bytes < MAX_RESPONSE_BYTES {
        match response.chunk().await {
            Ok(Some(chunk)) => exchange.add_chunk(&chunk),
            // The status decides the outcome, so a truncated body is no error.
            Ok(None) | Err(_) => break,
        }
    }
    Ok(())
}

/// The headers of this request. The client adds the headers of all requests.
fn headers(
    id: &str,
    seconds: i64,
    signature: String,
    standard: String,
) -> Result<HeaderMap, String> {
    let fields = [
        ("content-type", "application/json".to_owned()),
        ("x-signature", signature),
        ("x-timestamp", seconds.to_string()),
        ("webhook-id", id.to_owned()),
        ("webhook-timestamp", seconds.to_string()),
        ("webhook-signature", standard),
    ];
    let mut headers = HeaderMap::with_capacity(fields.len() + 3);
    for (name, value) in fields {
        let value = HeaderValue::from_str(&value).map_err(|error| error.to_string())?;
        headers.insert(HeaderName::from_static(name), value);
    }
    Ok(headers)
}

/// Reads the payload, for each attempt anew.
async fn payload(sender: &Sender, delivery: &Delivery) -> Result<Json, Fault> {
    if let Some(payload) = build(sender, delivery).await? {
        return Ok(payload);
    }
    // The record may have been erased since it was read. Then it names no text.
    if let Some(payload) = build(sender, delivery).await? {
        return Ok(payload);
    }
    let reason = "the metadata of this delivery is no longer stored".into();
    // Each failed attempt moves `due`, and would begin another wait.
    let since = match delivery.state {
        DeliveryState::Pending { due, failures: 0 } => due,
        DeliveryState::Pending { .. }
        | DeliveryState::Delivered { .. }
        | DeliveryState::Failed { .. } => delivery.created_at,
    };
    let is_early = (sender.clock)() < since.plus(LONGEST_ERASURE);
    Err(match is_early {
        true => Fault::Own(reason),
        false => Fault::Delivery(reason),
    })
}

/// `None` if the text that the record names is not in the object store.
async fn build(sender: &Sender, delivery: &Delivery) -> Result<Option<Json>, Fault> {
    let job = JobId(delivery.subject);
    match delivery.kind {
        DeliveryKind::Event => job_ended(sender, delivery.account, job).await,
        DeliveryKind::Test => Ok(Some(payload::test(job))),
        DeliveryKind::Operator => operator_event(sender, delivery.id).await.map(Some),
        DeliveryKind::Batch => {
            batch_ended(sender, delivery.account, BatchId(delivery.subject)).await
        }
    }
}

async fn operator_event(sender: &Sender, id: DeliveryId) -> Result<Json, Fault> {
    let read = OPERATOR_EVENTS.get(&sender.store, &id).await;
    let event = read.map_err(own)?;
    let event = event.ok_or_else(|| Fault::Delivery("this event is no longer on record".into()))?;
    Ok(payload::operator_event(&event))
}

/// As [`build`].
async fn batch_ended(
    sender: &Sender,
    account: AccountId,
    id: BatchId,
) -> Result<Option<Json>, Fault> {
    let read = sender.store.batch(account, id).await;
    let read = read.map_err(own)?;
    let gone = || Fault::Delivery("the batch of this delivery is no longer on record".into());
    let (batch, progress) = read.ok_or_else(gone)?;
    let Some(text) = text(sender, &batch.text).await? else {
        return Ok(None);
    };
    let metadata = metadata(text)?;
    let payload = payload::batch_ended(id, &progress, metadata.as_ref());
    Ok(Some(payload))
}

/// The payload of an ended job, with a fresh download URL. As [`build`].
async fn job_ended(sender: &Sender, account: AccountId, id: JobId) -> Result<Option<Json>, Fault> {
    let read = sender.store.job(account, id).await.map_err(own)?;
    let gone = || Fault::Delivery("the job of this delivery is no longer on record".into());
    let job = read.ok_or_else(gone)?;
    let Some(text) = text(sender, &job.prompt).await? else {
        return Ok(None);
    };
    let metadata = metadata(text)?;
    let ending = |ending| Ok(Some(payload::job_ended(job.id, ending, metadata.as_ref())));
    match &job.state {
        JobState::Done { image, .. } => {
            let at = (sender.clock)().to_datetime();
            let url = sender.objects.presign(&image.key, at, sender.url_lifetime);
            let url = url.await.map_err(|error| {
                Fault::Own(format!("the download URL could not be signed: {error}"))
            })?;
            ending(Ending::Done { image_url: &url })
        }
        JobState::Failed { error, .. } => ending(Ending::Failed { error }),
        JobState::Queued | JobState::Processing { .. } => Err(Fault::Delivery(
            "the job of this delivery has not ended".into(),
        )),
    }
}

/// `None` if the object store does not hold the text.
async fn text(sender: &Sender, text: &PromptRef) -> Result<Option<PromptText>, Fault> {
    let read = request_text::resolve(&sender.objects, text).await;
    read.map_err(|error| {
        let reason = format!("the metadata could not be read: {error}");
        match error {
            RequestTextError::Objects(_) => Fault::Own(reason),
            // No later attempt can read it.
            RequestTextError::Damaged(_) => Fault::Delivery(reason),
        }
    })
}

fn metadata(text: PromptText) -> Result<Option<Json>, Fault> {
    text.metadata
        .map(|text| Json::parse(&text, MAX_METADATA_DEPTH))
        .transpose()
        .map_err(|fault| Fault::Delivery(format!("the metadata {fault}")))
}

fn secrets(
    sender: &Sender,
    webhook: &Webhook,
    at: Timestamp,
) -> Result<Vec<WebhookSecret>, VaultError> {
    let open = |sealed| sender.vault.open(webhook.id, sealed);
    webhook.signing_secrets(at).into_iter().map(open).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tintype_egress::testing::loopback;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn an_attempt_reads_a_bounded_part_of_a_long_response() {
        const LENGTH: usize = 256 * MAX_RESPONSE_BYTES;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let url = parse_url(&url).unwrap();
        let respond = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.read_u8().await.unwrap();
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {LENGTH}\r\n\r\n");
            stream.write_all(head.as_bytes()).await.unwrap();
            // Fails once the client has closed the connection.
            stream.write_all(&vec![b'a'; LENGTH]).await.is_ok()
        };
        let sent = SentRequest::new(String::new(), String::new(), "");
        let request = Request {
            url,
            headers: HeaderMap::new(),
            body: String::new(),
            sent,
        };
        let client = Client::new(loopback()).unwrap();
        let mut exchange = Exchange::default();
        let send = send(&client, request, &mut exchange);
        let (sent, is_read) = tokio::join!(send, respond);
        assert_eq!((sent, is_read), (Ok(()), false));
        assert!(exchange.body_bytes >= MAX_RESPONSE_BYTES);
        assert!(exchange.body_bytes < LENGTH / 2);
        assert_eq!(exchange.body.len(), MAX_EXCERPT_BYTES + 1);
    }

    #[test]
    fn an_exchange_keeps_only_the_bytes_that_an_attempt_stores() {
        let mut exchange = Exchange::default();
        // The last stored byte is the first half of a character.
        exchange.add_chunk(&[b'a'; MAX_EXCERPT_BYTES - 1]);
        "é".bytes().for_each(|byte| exchange.add_chunk(&[byte]));
        exchange.add_chunk(&[b'b'; MAX_RESPONSE_BYTES]);
        assert_eq!(exchange.body.len(), MAX_EXCERPT_BYTES + 1);
        assert_eq!(
            exchange.body_bytes,
            MAX_EXCERPT_BYTES + 1 + MAX_RESPONSE_BYTES
        );
        let (at, took) = (Timestamp::EPOCH, Duration::ZERO);
        let attempt = Attempt::responded(0, at, took, 200, &exchange.body, None);
        assert_eq!(attempt.response_body, "a".repeat(MAX_EXCERPT_BYTES - 1));
    }
}
