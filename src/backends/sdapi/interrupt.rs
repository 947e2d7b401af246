//! Ends the work of a try that nobody waits for any more.

use super::progress;
use crate::backends::upstream::Upstream;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::timeout;

/// For all of it. Nobody waits for it, and a server that hangs must not gather such tries.
const PATIENCE: Duration = Duration::from_secs(15);

/// Interrupts a task when it is dropped while armed. Best effort.
///
/// `/sdapi/v1/interrupt` stops whatever runs, whoever it belongs to, and closing the connection stops nothing. So the server
/// is asked first whether it is this very task that runs; one that cannot tell is left to finish.
pub struct Interrupt {
    work: Option<(Upstream, String)>,
}

impl Interrupt {
    /// Armed, for a task by the name that it was sent with.
    pub fn new(upstream: Upstream, task: String) -> Self {
        Self {
            work: Some((upstream, task)),
        }
    }

    /// The task is over.
    pub fn disarm(&mut self) {
        self.work = None;
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        let (Some((upstream, task)), Ok(runtime)) = (self.work.take(), Handle::try_current())
        else {
            return;
        };
        runtime.spawn(async move {
            // What comes of it is seen by nobody; a fault is in the log.
            let _ = timeout(PATIENCE, interrupt(&upstream, &task)).await;
        });
    }
}

async fn interrupt(upstream: &Upstream, task: &str) {
    if progress::is_active(upstream, task).await {
        let words = upstream.for_words();
        let _ = words
            .post_json("/sdapi/v1/interrupt", Default::default())
            .await;
    }
}
