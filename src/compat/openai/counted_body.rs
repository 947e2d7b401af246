//! The body of a form, counted while it is parsed, so that it can be drained when the form is refused.

use actix_web::error::PayloadError;
use actix_web::http::header;
use actix_web::{HttpRequest, web};
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

/// The body. Clones share it.
#[derive(Clone)]
pub struct CountedBody {
    payload: Rc<RefCell<web::Payload>>,
    max_bytes: u64,
    arrived: Rc<Cell<u64>>,
    /// Off once the form is refused: what is only drained has its own bound.
    is_read: Rc<Cell<bool>>,
}

impl CountedBody {
    /// A body that may have so many bytes.
    pub fn new(payload: web::Payload, max_bytes: u64) -> Self {
        Self {
            payload: Rc::new(RefCell::new(payload)),
            max_bytes,
            arrived: Rc::default(),
            is_read: Rc::new(Cell::new(true)),
        }
    }

    /// Have more bytes arrived than it may have?
    pub fn is_too_large(&self) -> bool {
        self.arrived.get() > self.max_bytes
    }

    /// The form is refused: the rest is only drained.
    pub fn refuse(&self) {
        self.is_read.set(false);
    }
}

impl Stream for CountedBody {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.payload.borrow_mut().poll_next_unpin(cx);
        if let Poll::Ready(Some(Ok(chunk))) = &polled {
            self.arrived.set(self.arrived.get() + chunk.len() as u64);
            // Counted here: the parser skips what is between the parts without returning.
            if self.is_too_large() && self.is_read.get() {
                return Poll::Ready(Some(Err(PayloadError::Overflow)));
            }
        }
        polled
    }
}

/// Is a body said to be a form?
pub fn is_form(request: &HttpRequest) -> bool {
    let given = request.headers().get(header::CONTENT_TYPE);
    given
        .and_then(|it| it.to_str().ok())
        .is_some_and(|it| it.to_ascii_lowercase().starts_with("multipart/form-data"))
}
