//! Has a request been written whole? hyper does not say it, and only a request that was not may be sent again.

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
pub(super) struct Written(Arc<AtomicU8>);

impl Written {
    /// Begins a request with this body.
    pub fn track(&self, body: Bytes) -> TrackedBody {
        self.set(if body.is_empty() { BUFFERED } else { BEGUN });
        TrackedBody {
            body: Full::new(body),
            written: self.clone(),
        }
    }

    /// Has the stream taken the whole request?
    pub fn is_whole(&self) -> bool {
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
pub(super) struct TrackedBody {
    body: Full<Bytes>,
    written: Written,
}

impl Body for TrackedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        self.written.advance(BEGUN, BUFFERED);
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
pub(super) struct TrackedStream<S> {
    stream: S,
    written: Written,
}

impl<S> TrackedStream<S> {
    pub fn new(stream: S, written: Written) -> Self {
        Self { stream, written }
    }

    fn wrote(&self, outcome: &Poll<io::Result<usize>>) {
        if matches!(outcome, Poll::Ready(Ok(1..))) {
            self.written.advance(BUFFERED, WRITING);
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
            self.written.advance(WRITING, WHOLE);
        }
        outcome
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
