//! Ends the work of a try that nobody waits for any more.

use super::progress;
use crate::backends::upstream::Upstream;
use tokio::runtime::Handle;

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
            if progress::is_active(&upstream, &task).await {
                // What comes of it is seen by nobody; a fault is in the log.
                let _ = upstream
                    .post_json("/sdapi/v1/interrupt", Default::default())
                    .await;
            }
        });
    }
}
