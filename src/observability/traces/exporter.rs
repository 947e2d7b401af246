//! Sends spans to the collector: in batches, from a bounded queue, and never at the cost of the work that they tell of.
//!
//! What does not fit into the queue is dropped and counted, and so is a batch that the collector does not take after a few tries.

use super::encode;
use super::span::Span;
use crate::config::Otlp;
use crate::user_agent::USER_AGENT;
use parking_lot::Mutex;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, StatusCode, redirect};
use serde::Deserialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};
use tintype_egress::{SetupError, retry_after, tls};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout, timeout_at};

/// Spans that wait; each takes about 1 KB.
const QUEUE: usize = 8_192;
/// Spans that are sent together.
const BATCH: usize = 512;
/// Longest time that the first span of a batch waits for others.
const BATCH_DELAY: Duration = Duration::from_secs(2);
/// How often a batch is sent at the most, and the wait before it is sent again, doubled each time.
const TRIES: u32 = 5;
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// Bytes of a response that are read.
const MAX_ANSWER: usize = 64 * 1024;
/// Longest time that an orderly stop waits for the last batches.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// Why traces cannot be sent at all.
#[derive(Debug, thiserror::Error)]
pub enum TraceSetupError {
    /// No TLS.
    #[error(transparent)]
    Tls(#[from] SetupError),
    /// A header that HTTP does not know.
    #[error("[otlp] headers: `{0}` cannot be sent")]
    Header(String),
    /// The client itself.
    #[error("connections to the collector of [otlp] cannot be set up: {0}")]
    Client(#[source] reqwest::Error),
}

/// What became of spans since the start.
#[derive(Debug, Default)]
pub struct TraceFigures {
    /// Taken by the collector.
    pub sent: AtomicU64,
    /// Lost: the queue was full, or the collector did not take them.
    pub dropped: AtomicU64,
    /// Exports that failed, repeated ones included.
    pub failures: AtomicU64,
}

/// The way to the collector.
pub struct Exporter {
    queue: mpsc::Sender<Span>,
    figures: Arc<TraceFigures>,
    closing: watch::Sender<bool>,
    sending: Mutex<Option<JoinHandle<()>>>,
}

impl Exporter {
    /// Begins to send. Must be called within an actix system.
    ///
    /// # Errors
    /// See [`TraceSetupError`]. That the collector cannot be reached is none.
    pub fn start(settings: &Otlp, endpoint: &str) -> Result<Self, TraceSetupError> {
        let http = Client::builder()
            .tls_backend_preconfigured(tls::client_config(None)?)
            .http1_only()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .referer(false)
            .user_agent(USER_AGENT)
            .default_headers(headers(settings)?)
            .timeout(settings.timeout())
            .build()
            .map_err(TraceSetupError::Client)?;
        let (queue, spans) = mpsc::channel(QUEUE);
        let (closing, is_closing) = watch::channel(false);
        let figures = Arc::new(TraceFigures::default());
        let worker = ExportWorker {
            http,
            url: format!("{endpoint}/v1/traces"),
            service: settings.service_name.clone(),
            instance: uuid::Uuid::new_v4().to_string(),
            figures: Arc::clone(&figures),
            is_closing,
            is_troubled: false,
        };
        let sending = actix_web::rt::spawn(worker.run(spans));
        Ok(Self {
            queue,
            figures,
            closing,
            sending: Mutex::new(Some(sending)),
        })
    }

    /// Hands over a span, which is dropped when there are too many. Never waits.
    pub fn offer(&self, span: Span) {
        if self.queue.try_send(span).is_err() {
            self.figures.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// What became of spans.
    pub fn figures(&self) -> &TraceFigures {
        &self.figures
    }

    /// Spans that wait to be sent.
    pub fn waiting(&self) -> usize {
        self.queue.max_capacity() - self.queue.capacity()
    }

    /// Sends what waits, and takes no more. Gives up after a few seconds.
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

/// Sends batches to the collector.
struct ExportWorker {
    http: Client,
    url: String,
    service: String,
    instance: String,
    figures: Arc<TraceFigures>,
    is_closing: watch::Receiver<bool>,
    /// The last export failed, and that has been said.
    is_troubled: bool,
}

/// What came of an export.
enum Outcome {
    /// Taken, but for so many spans.
    Taken { rejected: u64 },
    /// It may be taken later.
    Later(Option<Duration>, String),
    /// It never will.
    Refused(String),
}

/// OTLP/HTTP, "Partial Success".
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Answer {
    partial_success: Option<PartialSuccess>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PartialSuccess {
    /// A 64-bit number, which some write as a string, as Protobuf's JSON wants it, and some do not.
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
                    // What was offered before is still there, and comes first.
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

    /// Sends a batch, again where that may help.
    async fn deliver(&mut self, batch: &[Span]) {
        let count = batch.len() as u64;
        let body = encode::body(&self.service, &self.instance, batch).to_string();
        let mut wait = FIRST_WAIT;
        for number in 1..=TRIES {
            let (asked, reason) = match self.send(body.clone()).await {
                Outcome::Taken { rejected } => {
                    let rejected = rejected.min(count);
                    let sent = count - rejected;
                    self.figures.sent.fetch_add(sent, Ordering::Relaxed);
                    self.figures.dropped.fetch_add(rejected, Ordering::Relaxed);
                    if std::mem::take(&mut self.is_troubled) {
                        tracing::info!("traces reach the collector again");
                    }
                    return;
                }
                Outcome::Later(asked, reason) => (Some(asked), reason),
                Outcome::Refused(reason) => (None, reason),
            };
            self.figures.failures.fetch_add(1, Ordering::Relaxed);
            if !std::mem::replace(&mut self.is_troubled, true) {
                tracing::warn!(%reason, "traces do not reach the collector; they are dropped when too many wait");
            }
            match asked {
                Some(asked) if number < TRIES && !*self.is_closing.borrow() => {
                    let wait_now = asked.unwrap_or(wait).min(LONGEST_WAIT);
                    let mut is_closing = self.is_closing.clone();
                    tokio::select! {
                        () = sleep(wait_now) => {}
                        // One more try, at once.
                        _ = is_closing.wait_for(|it| *it) => {}
                    }
                    wait *= 2;
                }
                _ => break,
            }
        }
        self.figures.dropped.fetch_add(count, Ordering::Relaxed);
    }

    async fn send(&self, body: String) -> Outcome {
        let request = self
            .http
            .post(&self.url)
            .header(CONTENT_TYPE, "application/json")
            .body(body);
        let response = match request.send().await {
            Ok(response) => response,
            // Without the URL, which is the operator's but need not stand in each log.
            Err(error) => return Outcome::Later(None, error.without_url().to_string()),
        };
        let status = response.status();
        if status.is_success() {
            let answer = read(response).await;
            let answer: Answer = serde_json::from_slice(&answer).unwrap_or_default();
            let rejected = answer.partial_success.unwrap_or_default().rejected_spans;
            let as_text = || rejected.as_str()?.parse().ok();
            let rejected = rejected.as_u64().or_else(as_text).unwrap_or(0);
            return Outcome::Taken { rejected };
        }
        let reason = format!("the collector answered {status}");
        // OTLP/HTTP, "Retryable Response Codes".
        match status {
            StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT => {
                let asked = retry_after(response.headers(), SystemTime::now());
                Outcome::Later(asked, reason)
            }
            _ => Outcome::Refused(reason),
        }
    }
}

/// The beginning of an answer. What breaks off ends there.
async fn read(mut response: Response) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        bytes.extend_from_slice(&chunk);
        if bytes.len() >= MAX_ANSWER {
            break;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Sources};
    use crate::observability::traces::span::{Kind, Moment};
    use std::net::TcpListener;

    const SPAN: Span = Span {
        trace: [1; 16],
        id: [2; 8],
        parent: None,
        name: "job",
        kind: Kind::Server,
        began: Moment(1),
        ended: Moment(2),
        attributes: Vec::new(),
        failure: None,
    };

    /// An address that nobody listens on.
    fn nowhere() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    }

    #[test]
    fn what_the_queue_cannot_hold_is_dropped_and_an_end_waits_for_no_collector() {
        let settings = Config::load(&Sources::default()).unwrap().otlp;
        actix_web::rt::System::new().block_on(async {
            let exporter = Exporter::start(&settings, &nowhere()).unwrap();
            let dropped = || exporter.figures().dropped.load(Ordering::Relaxed);
            // Nothing is sent meanwhile: this task does not give way.
            (0..QUEUE + 1_000).for_each(|_| exporter.offer(SPAN.clone()));
            assert_eq!((exporter.waiting(), dropped()), (QUEUE, 1_000));
            exporter.close().await;
            assert_eq!((exporter.waiting(), dropped()), (0, QUEUE as u64 + 1_000));
            assert!(exporter.figures().failures.load(Ordering::Relaxed) > 0);
            exporter.offer(SPAN.clone());
            assert_eq!(dropped(), QUEUE as u64 + 1_001, "closed");
        });
    }
}
