//! The result of a read: a future, which an in-process engine completes at once.

use super::EngineError;
use std::future::{Ready, ready};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

pub enum Read<T> {
    Ready(Ready<Result<T, EngineError>>),
    Pending(Pin<Box<dyn Future<Output = Result<T, EngineError>> + Send>>),
}

impl<T> From<Result<T, EngineError>> for Read<T> {
    fn from(result: Result<T, EngineError>) -> Self {
        Self::Ready(ready(result))
    }
}

impl<T> Read<T> {
    /// Blocks the thread until the result is there; see [`Wait`].
    pub fn wait(self) -> Result<T, EngineError> {
        match self {
            Self::Ready(result) => result.into_inner(),
            Self::Pending(result) => wait(result),
        }
    }
}

impl<T> Future for Read<T> {
    type Output = Result<T, EngineError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.get_mut() {
            Self::Ready(result) => Pin::new(result).poll(context),
            Self::Pending(result) => result.as_mut().poll(context),
        }
    }
}

/// Runs a future and blocks the thread while it waits. For start-up, the blocking pool, tools and tests.
fn wait<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    if let Poll::Ready(output) = future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        return output;
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// [`wait`] as a method of every future.
pub trait Wait: Future + Sized {
    /// Blocks the thread while the future waits. For start-up, the blocking pool, tools and tests.
    fn wait(self) -> Self::Output {
        wait(self)
    }
}

impl<F: Future> Wait for F {}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pending_read_is_waited_for() {
        let (sender, receiver) = std::sync::mpsc::channel::<Waker>();
        let mut is_first = true;
        let late = std::future::poll_fn(move |context| {
            if std::mem::take(&mut is_first) || context.waker().will_wake(Waker::noop()) {
                return Poll::Pending;
            }
            match sender.send(context.waker().clone()) {
                Ok(()) => Poll::Pending,
                Err(_) => Poll::Ready(Ok(7)),
            }
        });
        let other = std::thread::spawn(move || {
            let waker = receiver.recv().expect("the read is polled");
            drop(receiver);
            waker.wake();
        });
        let read: Read<u8> = Read::Pending(Box::pin(late));
        assert_eq!(read.wait().expect("an answer"), 7);
        other.join().expect("the other thread ends");
    }
}
