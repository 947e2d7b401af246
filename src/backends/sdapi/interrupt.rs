//! Interrupts a generation on the server when its run is dropped.

use super::progress;
use crate::backends::upstream::{CleanupGuard, Fault, Upstream};

/// Returns a guard that interrupts the task with this `force_task_id`, best effort. `alone`: Tintype sends the server one task at a
/// time.
///
/// `/sdapi/v1/interrupt` stops the running task, no matter which client sent it, and closing the connection stops nothing. So the
/// guard first asks the server whether this task is running. If the server cannot tell, the task runs to its end.
pub fn on_drop(upstream: Upstream, task_id: String, alone: bool) -> CleanupGuard {
    CleanupGuard::new(move || {
        let server = upstream.clone();
        upstream.clean_up(
            format!("interrupt the abandoned task {task_id}"),
            async move { interrupt(&server, &task_id, alone).await },
        );
    })
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
