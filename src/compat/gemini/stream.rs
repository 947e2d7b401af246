//! `streamGenerateContent`: server-sent events in the strict form that all SDKs read, or a growing JSON array.
//!
//! Each event is one `data:` line and a blank line. Comment lines, `event:`, `id:` and a final `[DONE]` break some SDKs. An event
//! without candidates makes a chat of an SDK forget the turn. So the keep-alive is an event without lines. It has two line ends,
//! because the Go SDK would read a single one as a part of the next event.

use super::response::ResponseContext;
use crate::compat::base64_body::Part;
use crate::compat::dialect::Dialect;
use crate::compat::job_stream::StreamFormat;
use crate::compat::jobs::job_waiter::{JobWaiter, WaitOutcome};
use crate::compat::refusal::Refusal;
use actix_web::HttpRequest;

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
            Self::Array => Dialect::Gemini.content_type(),
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
            Self::Events => "\r\n\r\n",
            Self::Array => " ",
        }
    }
}

pub struct Chunks {
    context: ResponseContext,
    framing: Framing,
}

impl Chunks {
    pub fn of(request: &HttpRequest, context: ResponseContext) -> Self {
        let framing = Framing::of(request);
        Self { context, framing }
    }
}

impl StreamFormat for Chunks {
    fn media_type(&self) -> &'static str {
        self.framing.media_type()
    }

    fn keep_alive(&self) -> &'static str {
        self.framing.keep_alive()
    }

    async fn events(
        &self,
        waiter: &mut JobWaiter,
        outcome: WaitOutcome,
    ) -> Result<Vec<Part>, Refusal> {
        let (context, framing) = (&self.context, self.framing);
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

    fn error_event(&self, refusal: &Refusal) -> String {
        let error = Dialect::Gemini.body(refusal);
        let (before, after) = (self.framing.before(true), self.framing.after(true));
        format!("{before}{error}{after}")
    }
}
