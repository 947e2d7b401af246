//! Responses that stream the outcome of a job. Keep-alives while the job runs prevent proxies from closing the connection.
//!
//! An error sets the status of the response if nothing has been sent, and is part of the stream otherwise.

use super::base64_body::{self, Part, Piece};
use super::jobs::job_waiter::{JobWaiter, WaitOutcome, mark_answered};
use super::refusal::{CompatResult, Refusal};
use super::response_head::response_head;
use actix_web::body::BoxBody;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use serde_json::Value;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

/// Time before the response head is sent, and between two keep-alives.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(10);

/// The events of an API.
pub trait StreamFormat: 'static {
    fn media_type(&self) -> &'static str {
        "text/event-stream"
    }

    /// Clients ignore it.
    fn keep_alive(&self) -> &'static str {
        ": keep-alive\n\n"
    }

    /// The events that precede the first keep-alive, or the outcome if that is earlier.
    fn first_events(&self) -> String {
        String::new()
    }

    /// The events of an outcome.
    ///
    /// # Errors
    /// The outcome is a failure in this API, or the image cannot be read.
    fn events(
        &self,
        waiter: &mut JobWaiter,
        outcome: WaitOutcome,
    ) -> impl Future<Output = Result<Vec<Part>, Refusal>>;

    /// The event of an error after the first keep-alive.
    fn error_event(&self, refusal: &Refusal) -> String;
}

/// A server-sent event.
pub fn event(name: &str, data: &Value) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

/// Waits for the job, but not longer than one keep-alive interval, and responds with a stream.
///
/// # Errors
/// The job fails before anything has been sent.
pub async fn respond(
    format: impl StreamFormat,
    waiter: JobWaiter,
    deadline: Instant,
) -> CompatResult {
    let mut response = response_head(waiter.replayed);
    response.content_type(format.media_type());
    Ok(response.body(body(format, waiter, deadline).await?))
}

async fn body(
    format: impl StreamFormat,
    mut waiter: JobWaiter,
    deadline: Instant,
) -> Result<BoxBody, Refusal> {
    let outcome = tokio::select! {
        outcome = waiter.wait(deadline) => Some(outcome?),
        () = sleep(KEEP_ALIVE_INTERVAL) => None,
    };
    if let Some(outcome) = outcome {
        let mut parts = vec![Part::Text(format.first_events())];
        parts.extend(format.events(&mut waiter, outcome).await?);
        let sent = mark_answered(vec![waiter]);
        let pieces = base64_body::on_sent(base64_body::pieces(parts), sent);
        return Ok(base64_body::streamed_body(pieces));
    }
    let (sender, receiver) = mpsc::channel(1);
    let task = StreamTask {
        format,
        deadline,
        sender,
    };
    actix_web::rt::spawn(task.run(waiter));
    let pieces = stream::unfold(receiver, |mut receiver| async move {
        receiver.recv().await.map(|piece| (piece, receiver))
    });
    Ok(base64_body::streamed_body(pieces))
}

/// Sends the rest of a stream whose head has been sent.
struct StreamTask<F> {
    format: F,
    deadline: Instant,
    sender: mpsc::Sender<Piece>,
}

impl<F: StreamFormat> StreamTask<F> {
    /// Ends when everything has been sent, or when the client disconnects.
    async fn run(self, mut waiter: JobWaiter) {
        let Some(outcome) = self.wait(&mut waiter).await else {
            return;
        };
        let parts = match outcome {
            Ok(outcome) => self.format.events(&mut waiter, outcome).await,
            Err(refusal) => Err(refusal),
        };
        let (parts, waiters) = match parts {
            Ok(parts) => (parts, vec![waiter]),
            Err(refusal) => {
                let event = Part::Text(self.format.error_event(&refusal));
                (vec![event], Vec::new())
            }
        };
        let pieces = base64_body::on_sent(base64_body::pieces(parts), mark_answered(waiters));
        tokio::pin!(pieces);
        loop {
            // A permit is available only after the previous piece has been received, and so sent.
            let Ok(permit) = self.sender.reserve().await else {
                return;
            };
            match pieces.next().await {
                Some(piece) => permit.send(piece),
                None => return,
            }
        }
    }

    /// The outcome of the job; `None` if the client disconnects.
    async fn wait(&self, waiter: &mut JobWaiter) -> Option<Result<WaitOutcome, Refusal>> {
        let waiting = waiter.wait(self.deadline);
        tokio::pin!(waiting);
        let keep_alive = Bytes::from_static(self.format.keep_alive().as_bytes());
        let first_events = Bytes::from(self.format.first_events());
        self.sender.send(Ok(first_events)).await.ok()?;
        loop {
            self.sender.send(Ok(keep_alive.clone())).await.ok()?;
            tokio::select! {
                outcome = &mut waiting => return Some(outcome),
                () = self.sender.closed() => return None,
                () = sleep(KEEP_ALIVE_INTERVAL) => {}
            }
        }
    }
}
