//! Bodies that nobody reads to their end.
//!
//! When a call is answered before its body has arrived, a body of declared length makes the server close the connection
//! after the answer. A chunked one does not: once its reader is dropped the rest is read and thrown away, for as long as the
//! client likes to send, or to send nothing. So the reader of a chunked body is kept until the answer has been sent: the
//! server then sees that the body is unread and closes as well.

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{Payload, ServiceRequest};
use actix_web::error::PayloadError;
use actix_web::http::header::TRANSFER_ENCODING;
use actix_web::{HttpMessage as _, HttpResponse};
use bytes::Bytes;
use futures_util::Stream;
use futures_util::StreamExt as _;
use std::cell::RefCell;
use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

/// The reader of a chunked body. A clone is the same one.
#[derive(Clone)]
pub struct Unread(Rc<RefCell<Payload>>);

impl fmt::Debug for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Unread")
    }
}

struct Shared(Rc<RefCell<Payload>>);

struct Holding {
    body: BoxBody,
    _payload: Rc<RefCell<Payload>>,
}

/// Keeps the reader of a chunked body; there is nothing to keep of other requests.
pub fn keep(request: &mut ServiceRequest) -> Option<Unread> {
    if !request.headers().contains_key(TRANSFER_ENCODING) {
        return None;
    }
    let payload = Rc::new(RefCell::new(request.take_payload()));
    let stream: Pin<Box<dyn Stream<Item = Result<Bytes, PayloadError>>>> =
        Box::pin(Shared(Rc::clone(&payload)));
    request.set_payload(Payload::from(stream));
    Some(Unread(payload))
}

impl Unread {
    /// Lets the reader go once the answer has been sent.
    pub fn until_sent(self, answer: HttpResponse<BoxBody>) -> HttpResponse<BoxBody> {
        answer.map_body(|_, body| {
            BoxBody::new(Holding {
                body,
                _payload: self.0,
            })
        })
    }
}

impl Stream for Shared {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.borrow_mut().poll_next_unpin(cx)
    }
}

impl MessageBody for Holding {
    type Error = Box<dyn Error>;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Pin::new(&mut self.body).poll_next(cx)
    }
}
