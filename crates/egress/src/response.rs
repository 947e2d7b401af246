//! A response with a streamed body.

use std::{future::poll_fn, pin::Pin, sync::Arc};

use bytes::Bytes;
use hyper::{
    HeaderMap, StatusCode,
    body::{Body, Incoming},
};

use crate::{
    Error,
    connection::Connection,
    connection_pool::{ConnectionPool, Origin},
};

/// The pool that a connection returns to, and its origin there.
pub(crate) type Home = (Arc<ConnectionPool>, Origin);

/// A response with a streamed body. Dropping it before the end of the body closes the connection.
pub struct Response {
    pub status: StatusCode,
    pub headers: HeaderMap,
    body: Incoming,
    /// `None` after the end of the body.
    connection: Option<Connection>,
    home: Option<Home>,
}

impl Response {
    pub(crate) fn new(
        response: hyper::Response<Incoming>,
        connection: Connection,
        home: Option<Home>,
    ) -> Self {
        let (head, body) = response.into_parts();
        Self {
            status: head.status,
            headers: head.headers,
            body,
            connection: Some(connection),
            home,
        }
    }

    /// The length of the body by its framing, if known before the first [`Response::chunk`]. `Content-Length` does not frame a body with
    /// `Transfer-Encoding`, and may contain any number there.
    pub fn length(&self) -> Option<u64> {
        self.body.size_hint().exact()
    }

    /// Reads the next bytes of the body, without decoding any content encoding. `None` is the end of a complete body.
    ///
    /// # Errors
    /// [`Error::Broken`] if the connection ends early or the framing is invalid.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, Error> {
        while let Some(connection) = &mut self.connection {
            let body = &mut self.body;
            let frame = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx));
            match connection.drive(frame).await {
                // Ignores trailers.
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
                Some(Err(_)) => return Err(Error::Broken),
                None => self.release_connection(),
            }
        }
        Ok(None)
    }

    fn release_connection(&mut self) {
        let connection = self.connection.take();
        if let (Some(connection), Some((pool, origin))) = (connection, self.home.take()) {
            pool.put(origin, connection);
        }
    }
}
