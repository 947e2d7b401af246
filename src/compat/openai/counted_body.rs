//! A request body that counts its bytes while a form is parsed, and can be drained if the form is refused.

use crate::compat::body_timeouts::BodyTimeouts;
use crate::compat::drain::drain;
use crate::compat::refusal::Refusal;
use actix_web::error::PayloadError;
use actix_web::http::header;
use actix_web::{HttpRequest, web};
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

/// Clones share the body.
#[derive(Clone)]
pub struct CountedBody {
    payload: Rc<RefCell<web::Payload>>,
    max_bytes: u64,
    arrived: Rc<Cell<u64>>,
    /// False once the form is refused, because draining has its own limit.
    is_read: Rc<Cell<bool>>,
}

impl CountedBody {
    pub fn new(payload: web::Payload, max_bytes: u64) -> Self {
        Self {
            payload: Rc::new(RefCell::new(payload)),
            max_bytes,
            arrived: Rc::default(),
            is_read: Rc::new(Cell::new(true)),
        }
    }

    pub fn is_too_large(&self) -> bool {
        self.arrived.get() > self.max_bytes
    }

    /// The outcome of `read`, which reads a clone of this body before the deadline. After a refusal, discards the rest of the body.
    pub async fn drain_if_refused<T>(
        mut self,
        timeouts: BodyTimeouts,
        read: impl Future<Output = Result<T, Refusal>>,
    ) -> Result<T, Refusal> {
        let outcome = timeouts.with_deadline(read).await;
        if outcome.is_err() {
            self.is_read.set(false);
            drain(&mut self, timeouts.drain_deadline()).await;
        }
        outcome
    }
}

impl Stream for CountedBody {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.payload.borrow_mut().poll_next_unpin(cx);
        if let Poll::Ready(Some(Ok(chunk))) = &polled {
            self.arrived.set(self.arrived.get() + chunk.len() as u64);
            // Counted here, because the parser skips the data between parts without returning.
            if self.is_too_large() && self.is_read.get() {
                return Poll::Ready(Some(Err(PayloadError::Overflow)));
            }
        }
        polled
    }
}

pub fn is_form(request: &HttpRequest) -> bool {
    let content_type = request.headers().get(header::CONTENT_TYPE);
    content_type
        .and_then(|it| it.to_str().ok())
        .is_some_and(|it| it.to_ascii_lowercase().starts_with("multipart/form-data"))
}
