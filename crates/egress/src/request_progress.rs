//! Tracks whether a request was written completely. hyper does not report it, and only an incomplete request may be sent again.

use std::{
    convert::Infallible,
    io::{self, IoSlice},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// hyper has not read the whole body yet.
const BEGUN: u8 = 0;
/// hyper has read the whole body into its buffer, or the request has no body.
const BUFFERED: u8 = 1;
/// hyper has written some bytes since.
const WRITING: u8 = 2;
/// hyper's buffer is empty: the stream has accepted the last byte and was flushed.
const WRITTEN: u8 = 3;

/// The progress of the current request of a connection.
#[derive(Clone, Default)]
pub(crate) struct RequestProgress(Arc<AtomicU8>);

impl RequestProgress {
    /// Starts tracking a request with this body.
    pub fn track(&self, body: Bytes) -> TrackedBody {
        self.set(if body.is_empty() { BUFFERED } else { BEGUN });
        TrackedBody {
            body: Full::new(body),
            progress: self.clone(),
        }
    }

    pub fn is_written(&self) -> bool {
        self.get() == WRITTEN
    }

    fn get(&self) -> u8 {
        self.0.load(Ordering::Relaxed)
    }

    fn set(&self, step: u8) {
        self.0.store(step, Ordering::Relaxed);
    }

    fn advance(&self, from: u8, to: u8) {
        if self.get() == from {
            self.set(to);
        }
    }
}

/// A request body of one frame.
pub(crate) struct TrackedBody {
    body: Full<Bytes>,
    progress: RequestProgress,
}

impl Body for TrackedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        self.progress.advance(BEGUN, BUFFERED);
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The stream of a connection. hyper flushes it only when hyper's own buffer is empty.
pub(crate) struct TrackedStream<S> {
    stream: S,
    progress: RequestProgress,
}

impl<S> TrackedStream<S> {
    pub fn new(stream: S, progress: RequestProgress) -> Self {
        Self { stream, progress }
    }

    fn record_write(&self, outcome: &Poll<io::Result<usize>>) {
        if matches!(outcome, Poll::Ready(Ok(1..))) {
            self.progress.advance(BUFFERED, WRITING);
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TrackedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TrackedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.record_write(&outcome);
        outcome
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.record_write(&outcome);
        outcome
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_flush(cx);
        if matches!(outcome, Poll::Ready(Ok(()))) {
            self.progress.advance(WRITING, WRITTEN);
        }
        outcome
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
