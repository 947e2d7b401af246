//! Interrupts a generation on the server when its run is dropped.

use super::progress;
use crate::backends::upstream::{Fault, Upstream};

/// Interrupts a task when dropped while armed. Best effort.
///
/// `/sdapi/v1/interrupt` stops the running task, no matter which client sent it, and closing the connection stops nothing. So the
/// guard first asks the server whether this task is running. If the server cannot tell, the task runs to its end.
pub struct Interrupt {
    work: Option<(Upstream, String)>,
    alone: bool,
}

impl Interrupt {
    /// Returns an armed guard for the task with this `force_task_id`. `alone`: Tintype sends the server one task at a time.
    pub fn new(upstream: Upstream, task_id: String, alone: bool) -> Self {
        Self {
            work: Some((upstream, task_id)),
            alone,
        }
    }

    /// Call it when the task has ended.
    pub fn disarm(&mut self) {
        self.work = None;
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        if let Some((upstream, task_id)) = self.work.take() {
            let (server, alone) = (upstream.clone(), self.alone);
            upstream.clean_up(
                format!("interrupt the abandoned task {task_id}"),
                async move { interrupt(&server, &task_id, alone).await },
            );
        }
    }
}

async fn interrupt(upstream: &Upstream, task_id: &str, alone: bool) -> Result<(), Fault> {
    if progress::is_active(upstream, task_id, alone).await {
        let words = upstream.for_small_responses();
        let path = "/sdapi/v1/interrupt";
        let response = words.post_json(path, Default::default()).await?;
        words.expect_success(response)?;
    }
    Ok(())
}
