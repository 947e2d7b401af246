//! A request body that limits its bytes while a form is parsed, and can be drained if the form is refused.

use crate::compat::refusal::Refusal;
use crate::compat::request_body::body::check_headers;
use crate::compat::request_body::body_timeouts::BodyTimeouts;
use crate::compat::request_body::drain::drain;
use actix_multipart::MultipartError;
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
pub struct LimitedBody {
    payload: Rc<RefCell<web::Payload>>,
    max_bytes: u64,
    /// The refusal of a larger body.
    too_large: fn() -> Refusal,
    pub timeouts: BodyTimeouts,
    arrived: Rc<Cell<u64>>,
    /// False once the form is refused, because draining has its own limit.
    is_read: Rc<Cell<bool>>,
}

impl LimitedBody {
    pub fn new(
        payload: web::Payload,
        max_bytes: u64,
        too_large: fn() -> Refusal,
        timeouts: BodyTimeouts,
    ) -> Self {
        Self {
            payload: Rc::new(RefCell::new(payload)),
            max_bytes,
            too_large,
            timeouts,
            arrived: Rc::default(),
            is_read: Rc::new(Cell::new(true)),
        }
    }

    fn is_too_large(&self) -> bool {
        self.arrived.get() > self.max_bytes
    }

    /// Waits for the next part of the form, or for the next data of a part.
    ///
    /// # Errors
    /// The body is too large, too slow or not a valid form.
    pub async fn next<T>(
        &self,
        items: &mut (impl Stream<Item = Result<T, MultipartError>> + Unpin),
    ) -> Result<Option<T>, Refusal> {
        let item = self.timeouts.read_step(items.next()).await?;
        item.transpose().map_err(|error| match self.is_too_large() {
            true => (self.too_large)(),
            false => Refusal::body(format!("the request body is not a valid form: {error}")),
        })
    }

    /// The outcome of `read`, which reads a clone of this body before the deadline. After a refusal, discards the rest of the body.
    pub async fn drain_if_refused<T>(
        mut self,
        read: impl Future<Output = Result<T, Refusal>>,
    ) -> Result<T, Refusal> {
        let timeouts = self.timeouts.clone();
        let outcome = timeouts.with_deadline(read).await;
        if outcome.is_err() {
            self.is_read.set(false);
            drain(&mut self, timeouts.drain_deadline()).await;
        }
        outcome
    }
}

impl Stream for LimitedBody {
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

/// # Errors
/// The body is compressed, its declared length is too large, or it is not a form: `advice` says what to send.
pub fn check_form(request: &HttpRequest, advice: &str) -> Result<(), Refusal> {
    check_headers(request)?;
    let content_type = request.headers().get(header::CONTENT_TYPE);
    let is_form = content_type
        .and_then(|it| it.to_str().ok())
        .is_some_and(|it| it.to_ascii_lowercase().starts_with("multipart/form-data"));
    is_form.then_some(()).ok_or_else(|| Refusal::body(advice))
}
