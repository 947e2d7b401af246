//! Work at a backend that a dropped try leaves behind: it stops a generation whose result is no longer wanted.

use super::{Fault, Upstream};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::timeout;

/// For the whole work, so that such tasks do not pile up at a server that hangs.
const TIMEOUT: Duration = Duration::from_secs(15);

impl Upstream {
    /// Runs `work` in the background, best effort: a failure is logged with `goal`, which completes "could not".
    pub fn clean_up(
        &self,
        goal: String,
        work: impl Future<Output = Result<(), Fault>> + Send + 'static,
    ) {
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        let upstream = self.clone();
        let running = Running::begin(self.cleanups());
        runtime.spawn(async move {
            let _running = running;
            if let Err(fault) = timeout(TIMEOUT, work).await.unwrap_or(Err(Fault::TimedOut)) {
                tracing::warn!(backend = upstream.name(), %fault, "could not {goal}");
            }
        });
    }

    /// Waits until no cleanup runs, at most as long as one may take.
    pub async fn cleanups_ended(&self) {
        let mut running = self.cleanups().subscribe();
        let _ = timeout(TIMEOUT, running.wait_for(|it| *it == 0)).await;
    }
}

/// Counts a cleanup as running until it is dropped.
struct Running(watch::Sender<usize>);

impl Running {
    fn begin(count: &watch::Sender<usize>) -> Self {
        count.send_modify(|it| *it += 1);
        Self(count.clone())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.send_modify(|it| *it -= 1);
    }
}
