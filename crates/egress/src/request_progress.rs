//! Whether a request was written whole. hyper does not say it, and only a request that was not may be sent again.

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

/// hyper has not taken the whole body yet.
const BEGUN: u8 = 0;
/// hyper has taken the whole body into its buffer.
const BUFFERED: u8 = 1;
/// Some bytes have been written since, or the request had no body to wait for.
const WRITING: u8 = 2;
/// The buffer is empty: the stream has taken the last byte and has passed it on.
const WHOLE: u8 = 3;

/// How far the request of a connection has come.
#[derive(Clone, Default)]
pub(crate) struct RequestProgress(Arc<AtomicU8>);

impl RequestProgress {
    /// Begins a request with this body.
    pub fn track(&self, body: Bytes) -> TrackedBody {
        self.set(if body.is_empty() { BUFFERED } else { BEGUN });
        TrackedBody {
            body: Full::new(body),
            progress: self.clone(),
        }
    }

    /// Has the stream taken the whole request?
    pub fn is_written(&self) -> bool {
        self.get() == WHOLE
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

/// The body of a request. All of it is one frame.
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

/// The stream of a connection. hyper flushes it whenever its own buffer is empty, and at no other time.
pub(crate) struct TrackedStream<S> {
    stream: S,
    progress: RequestProgress,
}

impl<S> TrackedStream<S> {
    pub fn new(stream: S, progress: RequestProgress) -> Self {
        Self { stream, progress }
    }

    fn wrote(&self, outcome: &Poll<io::Result<usize>>) {
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
        self.wrote(&outcome);
        outcome
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.wrote(&outcome);
        outcome
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_flush(cx);
        if matches!(outcome, Poll::Ready(Ok(()))) {
            self.progress.advance(WRITING, WHOLE);
        }
        outcome
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
