//! Sends spans to the collector, in batches, from a bounded queue that never blocks the traced work.
//!
//! The exporter drops and counts spans that do not fit into the queue, and batches that the collector does not accept after a few tries.

use super::encode;
use super::span::Span;
use crate::config::Otlp;
use crate::outgoing_http;
use parking_lot::Mutex;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, StatusCode};
use serde::Deserialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};
use tintype_egress::{SetupError, retry_after};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout, timeout_at};

/// In spans; each takes about 1 KB.
const QUEUE: usize = 8_192;
const BATCH: usize = 512;
/// The first span of a batch waits at most this long for others.
const BATCH_DELAY: Duration = Duration::from_secs(2);
const MAX_TRIES: u32 = 5;
/// Doubles with each retry.
const FIRST_BACKOFF: Duration = Duration::from_secs(1);
const MAX_BACKOFF: Duration = Duration::from_secs(30);
/// In bytes; the rest of a response is not read.
const MAX_RESPONSE: usize = 64 * 1024;
/// A graceful shutdown waits at most this long for the last batches.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
pub enum TraceSetupError {
    #[error(transparent)]
    Tls(#[from] SetupError),
    #[error("[otlp] headers: `{0}` is not a valid HTTP header")]
    Header(String),
    #[error("[otlp]: the HTTP client cannot be set up: {0}")]
    Client(#[source] reqwest::Error),
}

/// Counters since the start of the process.
#[derive(Debug, Default)]
pub struct TraceStats {
    /// Spans that the collector accepted.
    pub sent: AtomicU64,
    /// Spans lost because the queue was full or the collector did not accept them.
    pub dropped: AtomicU64,
    /// Failed exports, including retries.
    pub failures: AtomicU64,
}

pub struct Exporter {
    queue: mpsc::Sender<Span>,
    stats: Arc<TraceStats>,
    closing: watch::Sender<bool>,
    sending: Mutex<Option<JoinHandle<()>>>,
}

impl Exporter {
    /// Starts the worker. Must be called within an actix system.
    ///
    /// # Errors
    /// See [`TraceSetupError`]. An unreachable collector is not an error.
    pub fn start(settings: &Otlp, endpoint: &str) -> Result<Self, TraceSetupError> {
        let http = outgoing_http::client_builder()?
            .default_headers(headers(settings)?)
            .timeout(settings.timeout())
            .build()
            .map_err(TraceSetupError::Client)?;
        let (queue, spans) = mpsc::channel(QUEUE);
        let (closing, is_closing) = watch::channel(false);
        let stats = Arc::new(TraceStats::default());
        let worker = ExportWorker {
            http,
            url: format!("{endpoint}/v1/traces"),
            service: settings.service_name.clone(),
            instance: uuid::Uuid::new_v4().to_string(),
            stats: Arc::clone(&stats),
            is_closing,
            is_troubled: false,
        };
        let sending = actix_web::rt::spawn(worker.run(spans));
        Ok(Self {
            queue,
            stats,
            closing,
            sending: Mutex::new(Some(sending)),
        })
    }

    /// Queues a span, or drops it if the queue is full. Never waits.
    pub fn offer(&self, span: Span) {
        if self.queue.try_send(span).is_err() {
            self.stats.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub fn stats(&self) -> &TraceStats {
        &self.stats
    }

    /// Spans in the queue.
    pub fn waiting(&self) -> usize {
        self.queue.max_capacity() - self.queue.capacity()
    }

    /// Sends the queued spans and accepts no more. Gives up after [`SHUTDOWN_TIMEOUT`].
    pub async fn close(&self) {
        self.closing.send_replace(true);
        let sending = self.sending.lock().take();
        if let Some(sending) = sending
            && timeout(SHUTDOWN_TIMEOUT, sending).await.is_err()
        {
            tracing::warn!("the last traces did not reach the collector in time");
        }
    }
}

fn headers(settings: &Otlp) -> Result<HeaderMap, TraceSetupError> {
    let mut headers = HeaderMap::new();
    for (name, value) in &settings.headers {
        let unfit = || TraceSetupError::Header(name.clone());
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unfit())?;
        let mut value = HeaderValue::from_str(value.expose()).map_err(|_| unfit())?;
        value.set_sensitive(true);
        headers.insert(key, value);
    }
    Ok(headers)
}

struct ExportWorker {
    http: Client,
    url: String,
    service: String,
    instance: String,
    stats: Arc<TraceStats>,
    is_closing: watch::Receiver<bool>,
    /// The last export failed, and the log has a warning.
    is_troubled: bool,
}

enum Outcome {
    /// The collector accepted all but `rejected` spans.
    Accepted {
        rejected: u64,
    },
    /// With the requested delay and the reason.
    Retryable(Option<Duration>, String),
    Permanent(String),
}

/// OTLP/HTTP, "Partial Success".
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ExportResponse {
    partial_success: Option<PartialSuccess>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PartialSuccess {
    /// A 64-bit number: a string in Protobuf's JSON, but some collectors write a number.
    rejected_spans: serde_json::Value,
}

impl ExportWorker {
    async fn run(mut self, mut spans: mpsc::Receiver<Span>) {
        let mut batch = Vec::with_capacity(BATCH);
        let mut is_closing = self.is_closing.clone();
        loop {
            let first = tokio::select! {
                biased;
                _ = is_closing.wait_for(|it| *it), if !spans.is_closed() => {
                    // The channel still yields the spans queued before.
                    spans.close();
                    continue;
                }
                found = spans.recv_many(&mut batch, BATCH) => found,
            };
            if first == 0 {
                return;
            }
            let full_by = Instant::now() + BATCH_DELAY;
            while batch.len() < BATCH && !*is_closing.borrow() {
                let room = BATCH - batch.len();
                tokio::select! {
                    _ = is_closing.wait_for(|it| *it) => {}
                    more = timeout_at(full_by, spans.recv_many(&mut batch, room)) => match more {
                        Ok(1..) => {}
                        Ok(0) | Err(_) => break,
                    },
                }
            }
            self.deliver(&batch).await;
            batch.clear();
        }
    }

    /// Sends a batch, with retries.
    async fn deliver(&mut self, batch: &[Span]) {
        let count = batch.len() as u64;
        let body = encode::body(&self.service, &self.instance, batch).to_string();
        let mut wait = FIRST_BACKOFF;
        for number in 1..=MAX_TRIES {
            let (asked, reason) = match self.send(body.clone()).await {
                Outcome::Accepted { rejected } => {
                    let rejected = rejected.min(count);
                    let sent = count - rejected;
                    self.stats.sent.fetch_add(sent, Ordering::Relaxed);
                    self.stats.dropped.fetch_add(rejected, Ordering::Relaxed);
                    if std::mem::take(&mut self.is_troubled) {
                        tracing::info!("trace export recovered");
                    }
                    return;
                }
                Outcome::Retryable(asked, reason) => (Some(asked), reason),
                Outcome::Permanent(reason) => (None, reason),
            };
            self.stats.failures.fetch_add(1, Ordering::Relaxed);
            if !std::mem::replace(&mut self.is_troubled, true) {
                tracing::warn!(%reason, "cannot send traces to the collector; spans are dropped when the queue is full");
            }
            match asked {
                Some(asked) if number < MAX_TRIES && !*self.is_closing.borrow() => {
                    let wait_now = asked.unwrap_or(wait).min(MAX_BACKOFF);
                    let mut is_closing = self.is_closing.clone();
                    tokio::select! {
                        () = sleep(wait_now) => {}
                        // Tries once more, immediately.
                        _ = is_closing.wait_for(|it| *it) => {}
                    }
                    wait *= 2;
                }
                _ => break,
            }
        }
        self.stats.dropped.fetch_add(count, Ordering::Relaxed);
    }

    async fn send(&self, body: String) -> Outcome {
        let request = self
            .http
            .post(&self.url)
            .header(CONTENT_TYPE, "application/json")
            .body(body);
        let response = match request.send().await {
            Ok(response) => response,
            // The URL is configuration and adds nothing to the log.
            Err(error) => return Outcome::Retryable(None, error.without_url().to_string()),
        };
        let status = response.status();
        if status.is_success() {
            let body = read(response).await;
            let body: ExportResponse = serde_json::from_slice(&body).unwrap_or_default();
            let rejected = body.partial_success.unwrap_or_default().rejected_spans;
            let as_text = || rejected.as_str()?.parse().ok();
            let rejected = rejected.as_u64().or_else(as_text).unwrap_or(0);
            return Outcome::Accepted { rejected };
        }
        let reason = format!("the collector returned {status}");
        // OTLP/HTTP, "Retryable Response Codes".
        match status {
            StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT => {
                let asked = retry_after(response.headers(), SystemTime::now());
                Outcome::Retryable(asked, reason)
            }
            _ => Outcome::Permanent(reason),
        }
    }
}

/// Reads the beginning of a response; a truncated one is not an error.
async fn read(mut response: Response) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        bytes.extend_from_slice(&chunk);
        if bytes.len() >= MAX_RESPONSE {
            break;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Sources};
    use crate::observability::traces::span::Kind;
    use std::net::TcpListener;

    const SPAN: Span = Span {
        trace: [1; 16],
        id: [2; 8],
        parent: None,
        name: "job",
        kind: Kind::Server,
        began: Duration::from_nanos(1),
        ended: Duration::from_nanos(2),
        attributes: Vec::new(),
        failure: None,
    };

    /// An address without a listener.
    fn nowhere() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    }

    #[test]
    fn a_full_queue_drops_spans_and_closing_does_not_wait_for_the_collector() {
        let settings = Config::load(&Sources::default()).unwrap().otlp;
        actix_web::rt::System::new().block_on(async {
            let exporter = Exporter::start(&settings, &nowhere()).unwrap();
            let dropped = || exporter.stats().dropped.load(Ordering::Relaxed);
            // This loop does not yield, so the worker sends nothing meanwhile.
            (0..QUEUE + 1_000).for_each(|_| exporter.offer(SPAN.clone()));
            assert_eq!((exporter.waiting(), dropped()), (QUEUE, 1_000));
            exporter.close().await;
            assert_eq!((exporter.waiting(), dropped()), (0, QUEUE as u64 + 1_000));
            assert!(exporter.stats().failures.load(Ordering::Relaxed) > 0);
            exporter.offer(SPAN.clone());
            assert_eq!(dropped(), QUEUE as u64 + 1_001, "closed");
        });
    }
}
