//! An HTTP/1.1 connection, which sends one request at a time.

use std::{
    future::{Future, poll_fn},
    net::SocketAddr,
    pin::{Pin, pin},
    task::{Context, Poll},
};

use bytes::Bytes;
use hyper::{
    Request, Response,
    body::Incoming,
    client::conn::http1::{self, SendRequest},
};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::request_progress::{RequestProgress, TrackedBody, TrackedStream};

/// The read buffer. A larger response head is an error.
const MAX_BUFFER: usize = 1 << 16;

pub(crate) struct Connection {
    pub peer: SocketAddr,
    sender: SendRequest<TrackedBody>,
    driver: Driver,
    progress: RequestProgress,
}

/// Why a request has no response.
pub(crate) struct RequestError {
    pub error: hyper::Error,
    /// The connection has written the whole request, so the server may have acted on it.
    pub was_written: bool,
}

impl Connection {
    /// Starts HTTP/1.1 over a stream to `peer`.
    pub async fn over<S>(stream: S, peer: SocketAddr) -> hyper::Result<Self>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let progress = RequestProgress::default();
        let stream = TrackedStream::new(stream, progress.clone());
        let (sender, connection) = http1::Builder::new()
            .max_buf_size(MAX_BUFFER)
            .handshake(TokioIo::new(stream))
            .await?;
        let driver = Driver(Some(Box::pin(async move {
            // hyper reports errors through the affected request or body.
            let _ = connection.await;
        })));
        Ok(Self {
            peer,
            sender,
            driver,
            progress,
        })
    }

    /// Sends a request and waits for the head of its response.
    pub async fn exchange(
        &mut self,
        request: Request<Bytes>,
    ) -> Result<Response<Incoming>, RequestError> {
        let request = request.map(|body| self.progress.track(body));
        let response = self.sender.send_request(request);
        let response = self.driver.drive(response).await;
        response.map_err(|error| RequestError {
            error,
            was_written: self.progress.is_written(),
        })
    }

    /// Waits for data from this connection, and polls the connection meanwhile.
    pub async fn drive<T>(&mut self, work: impl Future<Output = T>) -> T {
        self.driver.drive(work).await
    }

    /// Can the next request be sent now? Not if the server has closed the connection, has sent unrequested data, or has not read the
    /// whole last request.
    pub async fn is_ready(&mut self) -> bool {
        poll_fn(|cx| {
            self.driver.poll(cx);
            Poll::Ready(self.sender.is_ready())
        })
        .await
    }
}

/// The future that drives hyper's connection. The future that waits for a response polls it. It is not a separate task, so that the
/// connection ends with its owner.
struct Driver(Option<Pin<Box<dyn Future<Output = ()> + Send>>>);

impl Driver {
    fn poll(&mut self, cx: &mut Context<'_>) {
        if let Some(connection) = &mut self.0
            && connection.as_mut().poll(cx).is_ready()
        {
            self.0 = None;
        }
    }

    async fn drive<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        poll_fn(|cx| {
            if let Poll::Ready(outcome) = work.as_mut().poll(cx) {
                return Poll::Ready(outcome);
            }
            self.poll(cx);
            // The connection may have received data for the work.
            work.as_mut().poll(cx)
        })
        .await
    }
}
