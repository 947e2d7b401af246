//! `streamGenerateContent`: server-sent events in the strict form that all SDKs read, or a growing JSON array.
//!
//! Each event is one `data:` line and a blank line. Comment lines, `event:`, `id:` and a final `[DONE]` break some SDKs, so the
//! keep-alive is an empty object. An error sets the status of the response if nothing has been sent, and is an event otherwise.

use super::response::{self, ResponseContext};
use crate::compat::base64_body::{self, Part, Piece};
use crate::compat::dialect::Dialect;
use crate::compat::job_waiter::{JobWaiter, WaitOutcome, mark_answered};
use crate::compat::refusal::Refusal;
use actix_web::{HttpRequest, HttpResponse};
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

/// Time before the response head is sent, and between two keep-alives.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(10);

/// How the stream separates objects.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Framing {
    /// `alt=sse`
    Events,
    Array,
}

impl Framing {
    fn of(request: &HttpRequest) -> Self {
        let query = request.query_string().as_bytes();
        let events = url::form_urlencoded::parse(query)
            .any(|(name, value)| name == "alt" && value.eq_ignore_ascii_case("sse"));
        if events { Self::Events } else { Self::Array }
    }

    fn media_type(self) -> &'static str {
        match self {
            Self::Events => "text/event-stream",
            Self::Array => "application/json; charset=UTF-8",
        }
    }

    fn before(self, is_first: bool) -> &'static str {
        match (self, is_first) {
            (Self::Events, _) => "data: ",
            (Self::Array, true) => "[",
            (Self::Array, false) => ",\r\n",
        }
    }

    fn after(self, is_last: bool) -> &'static str {
        match (self, is_last) {
            (Self::Events, _) => "\r\n\r\n",
            (Self::Array, true) => "]",
            (Self::Array, false) => "",
        }
    }

    fn keep_alive(self) -> &'static str {
        match self {
            Self::Events => "data: {}\r\n\r\n",
            Self::Array => " ",
        }
    }
}

/// # Errors
/// The job fails before anything has been sent.
pub async fn respond(
    context: ResponseContext,
    mut waiter: JobWaiter,
    deadline: Instant,
    request: &HttpRequest,
) -> Result<HttpResponse, Refusal> {
    let framing = Framing::of(request);
    let mut response = response::response_head(&waiter);
    response.content_type(framing.media_type());
    let outcome = tokio::select! {
        outcome = waiter.wait(deadline) => Some(outcome?),
        () = sleep(KEEP_ALIVE_INTERVAL) => None,
    };
    let body = match outcome {
        Some(outcome) => {
            let parts = framed_parts(&context, &mut waiter, outcome, framing).await?;
            let sent = mark_answered(vec![waiter]);
            base64_body::streamed_body(base64_body::on_sent(base64_body::pieces(parts), sent))
        }
        None => {
            let (sender, receiver) = mpsc::channel(1);
            let task = StreamTask {
                context,
                deadline,
                framing,
                sender,
            };
            actix_web::rt::spawn(task.run(waiter));
            let pieces = stream::unfold(receiver, |mut receiver| async move {
                receiver.recv().await.map(|piece| (piece, receiver))
            });
            base64_body::streamed_body(pieces)
        }
    };
    Ok(response.body(body))
}

async fn framed_parts(
    context: &ResponseContext,
    waiter: &mut JobWaiter,
    outcome: WaitOutcome,
    framing: Framing,
) -> Result<Vec<Part>, Refusal> {
    let text = match outcome {
        WaitOutcome::Image(_) => context.text_chunk(waiter),
        WaitOutcome::Blocked(_) => None,
    };
    let is_first = text.is_none();
    let mut parts = Vec::new();
    if let Some(text) = text {
        let (before, after) = (framing.before(true), framing.after(false));
        parts.push(Part::Text(format!("{before}{text}{after}")));
    }
    parts.push(Part::Text(framing.before(is_first).into()));
    parts.extend(context.final_parts(waiter, outcome, false).await?);
    parts.push(Part::Text(framing.after(true).into()));
    Ok(parts)
}

/// Sends the rest of a stream whose head has been sent.
struct StreamTask {
    context: ResponseContext,
    deadline: Instant,
    framing: Framing,
    sender: mpsc::Sender<Piece>,
}

impl StreamTask {
    /// Ends when everything has been sent, or when the client disconnects.
    async fn run(self, mut waiter: JobWaiter) {
        let Some(outcome) = self.wait(&mut waiter).await else {
            return;
        };
        let parts = match outcome {
            Ok(outcome) => framed_parts(&self.context, &mut waiter, outcome, self.framing).await,
            Err(refusal) => Err(refusal),
        };
        let (parts, waiters) = match parts {
            Ok(parts) => (parts, vec![waiter]),
            Err(refusal) => {
                let error = Dialect::Gemini.body(&refusal);
                let (before, after) = (self.framing.before(true), self.framing.after(true));
                let event = Part::Text(format!("{before}{error}{after}"));
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
        let keep_alive = Bytes::from_static(self.framing.keep_alive().as_bytes());
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
