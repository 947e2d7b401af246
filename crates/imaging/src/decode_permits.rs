//! Permits that limit how many images are decoded at the same time. This limits memory, whatever the number of jobs.

use std::hash::Hash;
use tintype_fair_semaphore::{FairSemaphore, Permit};
use tokio::task::JoinError;

/// Permits that keys (accounts) take in turn.
#[derive(Debug)]
pub struct DecodePermits<K: Eq + Clone>(FairSemaphore<K>);

/// Permission to decode. Only [`DecodePermits`] creates it, so decoding cannot exceed the limit.
#[derive(Debug)]
pub struct DecodePermit(());

impl<K: Eq + Clone + Hash + Send + 'static> DecodePermits<K> {
    pub fn new(permits: u64) -> Self {
        Self(FairSemaphore::new(permits, permits))
    }

    /// Runs work on the blocking pool when it is the key's turn. The work keeps its permit even if the caller no longer waits for the
    /// result.
    ///
    /// # Errors
    /// The work panicked, as decoders do on hostile bytes, or the process is stopping.
    pub async fn run<T: Send + 'static>(
        &self,
        key: K,
        work: impl FnOnce(&DecodePermit) -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        let permit = self.0.acquire(key, 1).await;
        tokio::task::spawn_blocking(move || {
            let _permit: Permit<K> = permit;
            work(&DecodePermit(()))
        })
        .await
    }
}

impl DecodePermits<()> {
    /// Runs work on this thread outside the limit, such as a test of one image.
    pub fn unshared<T>(work: impl FnOnce(&DecodePermit) -> T) -> T {
        work(&DecodePermit(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;
    use futures_util::future::join_all;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use tokio::sync::mpsc::unbounded_channel;

    const PERMITS: usize = 2;

    #[tokio::test]
    async fn the_limit_applies_even_if_callers_stop_waiting() {
        let permits = Arc::new(DecodePermits::new(PERMITS as u64));
        let running = Arc::new(AtomicUsize::new(0));
        let (release, held) = mpsc::channel::<()>();
        let held = Arc::new(parking_lot::Mutex::new(held));
        let (begun, mut begins) = unbounded_channel();
        let work = || {
            let (running, held, begun) = (running.clone(), held.clone(), begun.clone());
            move |_: &DecodePermit| {
                let others = running.fetch_add(1, Ordering::SeqCst);
                let _ = begun.send(others + 1);
                let _ = held.lock().recv();
                running.fetch_sub(1, Ordering::SeqCst);
            }
        };
        let abandoned = [(); PERMITS].map(|()| {
            let (permits, work) = (permits.clone(), work());
            tokio::spawn(async move { permits.run('a', work).await })
        });
        for number in 1..=PERMITS {
            assert_eq!(begins.recv().await, Some(number));
        }
        for waiting in abandoned {
            waiting.abort();
            assert!(waiting.await.unwrap_err().is_cancelled());
        }
        let further = (0..4).map(|_| permits.run('b', work()));
        let mut further = std::pin::pin!(join_all(further));
        assert!(further.as_mut().now_or_never().is_none());
        assert!(begins.try_recv().is_err(), "no permit is free");
        drop(release);
        assert!(further.await.iter().all(Result::is_ok));
        for _ in 0..4 {
            assert!(begins.recv().await.is_some_and(|it| it <= PERMITS));
        }
    }

    #[tokio::test]
    async fn a_panic_releases_its_permit() {
        let permits = DecodePermits::new(1);
        for _ in 0..3 {
            let panicked = permits.run('a', |_| panic!("as decoders do")).await;
            assert!(panicked.is_err_and(|it| it.is_panic()));
        }
    }
}
