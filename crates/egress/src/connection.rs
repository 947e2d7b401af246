//! One connection, over which requests go one after the other.

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

/// Most that is buffered of a connection; a head that does not fit is refused.
const MAX_BUFFER: usize = 1 << 16;

/// A connection over which requests go one after the other.
pub(crate) struct Connection {
    /// The address at its other end.
    pub peer: SocketAddr,
    sender: SendRequest<TrackedBody>,
    driver: Driver,
    progress: RequestProgress,
}

/// Why a request has no answer.
pub(crate) struct NoAnswer {
    /// What hyper says of it.
    pub error: hyper::Error,
    /// The whole request was handed to the connection, so that the server may have acted on it.
    pub was_written: bool,
}

impl Connection {
    /// Speaks HTTP/1.1 over a stream to `peer`.
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
            // hyper reports an error to the request or the body that it concerns.
            let _ = connection.await;
        })));
        Ok(Self {
            peer,
            sender,
            driver,
            progress,
        })
    }

    /// Sends a request and waits for the head of its answer.
    pub async fn exchange(
        &mut self,
        request: Request<Bytes>,
    ) -> Result<Response<Incoming>, NoAnswer> {
        let request = request.map(|body| self.progress.track(body));
        let sent = self.sender.send_request(request);
        let answered = self.driver.beside(sent).await;
        answered.map_err(|error| NoAnswer {
            error,
            was_written: self.progress.is_written(),
        })
    }

    /// Waits for something that this connection brings.
    pub async fn beside<T>(&mut self, work: impl Future<Output = T>) -> T {
        self.driver.beside(work).await
    }

    /// Can another request be sent at once? Not if the server has closed the connection, has sent more than it was asked for,
    /// or has not read all of the last request.
    pub async fn is_free(&mut self) -> bool {
        poll_fn(|cx| {
            self.driver.run(cx);
            Poll::Ready(self.sender.is_ready())
        })
        .await
    }
}

/// hyper's side of a connection, which has to be polled for anything to happen. The future that waits for a response polls it.
/// It is not a task, so that the connection ends with its owner.
struct Driver(Option<Pin<Box<dyn Future<Output = ()> + Send>>>);

impl Driver {
    fn run(&mut self, cx: &mut Context<'_>) {
        if let Some(connection) = &mut self.0
            && connection.as_mut().poll(cx).is_ready()
        {
            self.0 = None;
        }
    }

    async fn beside<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        poll_fn(|cx| {
            if let Poll::Ready(outcome) = work.as_mut().poll(cx) {
                return Poll::Ready(outcome);
            }
            self.run(cx);
            // What the connection has just received is there to be taken.
            work.as_mut().poll(cx)
        })
        .await
    }
}
