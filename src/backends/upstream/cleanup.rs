//! Work at a backend that a dropped try leaves behind: it stops a generation whose result is no longer wanted.

use super::{Fault, Upstream};
use std::time::Duration;
use tokio::runtime::Handle;
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
        runtime.spawn(async move {
            if let Err(fault) = timeout(TIMEOUT, work).await.unwrap_or(Err(Fault::TimedOut)) {
                tracing::warn!(backend = upstream.name(), %fault, "could not {goal}");
            }
        });
    }
}
