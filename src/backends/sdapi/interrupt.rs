//! Interrupts a generation on the server when its run is dropped.

use super::progress;
use crate::backends::upstream::Upstream;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::timeout;

/// Bounds the whole background task, so that such tasks do not pile up at a server that hangs.
const TIMEOUT: Duration = Duration::from_secs(15);

/// Interrupts a task when dropped while armed. Best effort.
///
/// `/sdapi/v1/interrupt` stops the running task, no matter which client sent it, and closing the connection stops nothing. So the
/// guard first asks the server whether this task is running. If the server does not report tasks, the task runs to its end.
pub struct Interrupt {
    work: Option<(Upstream, String)>,
}

impl Interrupt {
    /// Returns an armed guard for the task with this `force_task_id`.
    pub fn new(upstream: Upstream, task_id: String) -> Self {
        Self {
            work: Some((upstream, task_id)),
        }
    }

    /// Call it when the task has ended.
    pub fn disarm(&mut self) {
        self.work = None;
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        let (Some((upstream, task_id)), Ok(runtime)) = (self.work.take(), Handle::try_current())
        else {
            return;
        };
        runtime.spawn(async move {
            // `Upstream` logs faults.
            let _ = timeout(TIMEOUT, interrupt(&upstream, &task_id)).await;
        });
    }
}

async fn interrupt(upstream: &Upstream, task_id: &str) {
    if progress::is_active(upstream, task_id).await {
        let words = upstream.for_small_answers();
        let _ = words
            .post_json("/sdapi/v1/interrupt", Default::default())
            .await;
    }
}
