//! Closes the connection after a response to a chunked body that was not read completely.
//!
//! If the response comes before the whole body, actix closes the connection of a body with a declared length. For a chunked body it reads
//! and discards the rest once the reader is dropped, however long the client sends or stays silent. So the reader of a chunked body lives
//! until the response is sent: actix then sees an unread body and closes the connection too.

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

/// The reader of a chunked body. Clones share it.
#[derive(Clone)]
pub struct Unread(Rc<RefCell<Payload>>);

impl fmt::Debug for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Unread")
    }
}

struct SharedReader(Rc<RefCell<Payload>>);

struct BodyWithReader {
    body: BoxBody,
    _payload: Rc<RefCell<Payload>>,
}

/// Shares the reader of a chunked body; `None` for other bodies.
pub fn keep(request: &mut ServiceRequest) -> Option<Unread> {
    if !request.headers().contains_key(TRANSFER_ENCODING) {
        return None;
    }
    let payload = Rc::new(RefCell::new(request.take_payload()));
    let stream: Pin<Box<dyn Stream<Item = Result<Bytes, PayloadError>>>> =
        Box::pin(SharedReader(Rc::clone(&payload)));
    request.set_payload(Payload::from(stream));
    Some(Unread(payload))
}

impl Unread {
    /// Drops the reader once the response is sent.
    pub fn until_sent(self, response: HttpResponse<BoxBody>) -> HttpResponse<BoxBody> {
        response.map_body(|_, body| {
            BoxBody::new(BodyWithReader {
                body,
                _payload: self.0,
            })
        })
    }
}

impl Stream for SharedReader {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.borrow_mut().poll_next_unpin(cx)
    }
}

impl MessageBody for BodyWithReader {
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
