//! `streamGenerateContent`: events in the strict form that all SDKs read, or a JSON array that grows.
//!
//! Each event is one `data:` line and a blank line. Comment lines, `event:`, `id:` and a final `[DONE]` break one SDK or
//! another, so what keeps the connection alive is an empty object. A fault is told by its status for as long as nothing has
//! been sent; after that it is an event of its own.

use super::answer::{self, Answer};
use crate::compat::base64_body::{self, Part, Piece};
use crate::compat::dialect::Dialect;
use crate::compat::job_waiter::{JobWaiter, Made, answered};
use crate::compat::refusal::Refusal;
use actix_web::{HttpRequest, HttpResponse};
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

/// How long nothing is sent: first before the head, then between two signs of life.
const SILENCE: Duration = Duration::from_secs(10);

/// How objects are told apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Framing {
    /// `alt=sse`
    Events,
    /// One array.
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

    /// What goes before an object.
    fn before(self, is_first: bool) -> &'static str {
        match (self, is_first) {
            (Self::Events, _) => "data: ",
            (Self::Array, true) => "[",
            (Self::Array, false) => ",\r\n",
        }
    }

    /// What goes after an object.
    fn after(self, is_last: bool) -> &'static str {
        match (self, is_last) {
            (Self::Events, _) => "\r\n\r\n",
            (Self::Array, true) => "]",
            (Self::Array, false) => "",
        }
    }

    /// What shows that the service is still there, and means nothing.
    fn sign_of_life(self) -> &'static str {
        match self {
            Self::Events => "data: {}\r\n\r\n",
            Self::Array => " ",
        }
    }
}

/// Answers with a stream.
///
/// # Errors
/// The job fails before anything has been sent.
pub async fn answer(
    answer: Answer,
    mut caller: JobWaiter,
    until: Instant,
    request: &HttpRequest,
) -> Result<HttpResponse, Refusal> {
    let framing = Framing::of(request);
    let mut response = answer::response(&caller);
    response.content_type(framing.media_type());
    let early = tokio::select! {
        made = caller.wait(until) => Some(made?),
        () = sleep(SILENCE) => None,
    };
    let body = match early {
        Some(made) => {
            let parts = frames(&answer, &mut caller, made, framing).await?;
            let sent = answered(vec![caller]);
            base64_body::streamed(base64_body::followed_by(base64_body::pieces(parts), sent))
        }
        None => {
            let (tell, heard) = mpsc::channel(1);
            let telling = Telling {
                answer,
                until,
                framing,
                tell,
            };
            actix_web::rt::spawn(telling.run(caller));
            let pieces = stream::unfold(heard, |mut heard| async move {
                heard.recv().await.map(|piece| (piece, heard))
            });
            base64_body::streamed(pieces)
        }
    };
    Ok(response.body(body))
}

/// All chunks of an answer.
async fn frames(
    answer: &Answer,
    caller: &mut JobWaiter,
    made: Made,
    framing: Framing,
) -> Result<Vec<Part>, Refusal> {
    let text = match made {
        Made::Picture(_) => answer.text_chunk(caller),
        Made::Blocked(_) => None,
    };
    let is_first = text.is_none();
    let mut parts = Vec::new();
    if let Some(text) = text {
        let (before, after) = (framing.before(true), framing.after(false));
        parts.push(Part::Text(format!("{before}{text}{after}")));
    }
    parts.push(Part::Text(framing.before(is_first).into()));
    parts.extend(answer.last(caller, made, false).await?);
    parts.push(Part::Text(framing.after(true).into()));
    Ok(parts)
}

/// A stream whose head has been sent.
struct Telling {
    answer: Answer,
    until: Instant,
    framing: Framing,
    tell: mpsc::Sender<Piece>,
}

impl Telling {
    /// Ends when all has been told, or when nobody listens any more.
    async fn run(self, mut caller: JobWaiter) {
        let Some(made) = self.wait(&mut caller).await else {
            return;
        };
        let parts = match made {
            Ok(made) => frames(&self.answer, &mut caller, made, self.framing).await,
            Err(refusal) => Err(refusal),
        };
        let (parts, callers) = match parts {
            Ok(parts) => (parts, vec![caller]),
            Err(refusal) => {
                let error = Dialect::Gemini.body(&refusal);
                let (before, after) = (self.framing.before(true), self.framing.after(true));
                let event = Part::Text(format!("{before}{error}{after}"));
                (vec![event], Vec::new())
            }
        };
        let pieces = base64_body::followed_by(base64_body::pieces(parts), answered(callers));
        tokio::pin!(pieces);
        loop {
            // Room comes when the piece before has been taken: only then has it been told.
            let Ok(room) = self.tell.reserve().await else {
                return;
            };
            match pieces.next().await {
                Some(piece) => room.send(piece),
                None => return,
            }
        }
    }

    /// The outcome of the job; `None` when the listener has gone.
    async fn wait(&self, caller: &mut JobWaiter) -> Option<Result<Made, Refusal>> {
        let waiting = caller.wait(self.until);
        tokio::pin!(waiting);
        let alive = Bytes::from_static(self.framing.sign_of_life().as_bytes());
        loop {
            self.tell.send(Ok(alive.clone())).await.ok()?;
            tokio::select! {
                made = &mut waiting => return Some(made),
                () = self.tell.closed() => return None,
                () = sleep(SILENCE) => {}
            }
        }
    }
}
