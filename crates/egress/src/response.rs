//! A response whose body is still to be read.

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

/// The pool that a connection goes back to.
pub(crate) type Home = (Arc<ConnectionPool>, Origin);

/// A response whose body is still to be read. Dropping it before its end closes the connection at once.
pub struct Response {
    /// The status.
    pub status: StatusCode,
    /// The header fields.
    pub headers: HeaderMap,
    body: Incoming,
    /// Until the end of the body.
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

    /// The next bytes of the body, as they were sent: no encoding is undone. `None` is its end, as the server meant it.
    ///
    /// # Errors
    /// [`Error::Broken`] when the connection ends or the framing fails before that.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, Error> {
        while let Some(connection) = &mut self.connection {
            let body = &mut self.body;
            let frame = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx));
            match connection.beside(frame).await {
                // Trailers are of no interest, and nothing follows them.
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
