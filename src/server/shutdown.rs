//! Graceful shutdown.

use super::instance::Instance;
use super::maintenance;
use actix_web::rt::task::spawn_blocking;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// How long a stopping node waits for its database: to return its jobs to the queue, and to record the last changes. The other nodes
/// take over from a node that could not do this.
const DATABASE_TIMEOUT: Duration = Duration::from_secs(5);

/// Lets load balancers see that a node stops, while it still answers calls. `cut_short` ends this early.
pub async fn drain_connections(instance: &Instance, cut_short: impl Future<Output = ()>) {
    let drain = instance.settings.config.drain();
    if drain.is_zero() {
        return;
    }
    instance.core.begin_draining();
    // The error means that the time has passed.
    let _ = timeout(drain, cut_short).await;
}

/// Lets running jobs finish within the rest of the grace period, which `cut_short` ends early. The next start or another node resumes the others.
pub async fn finish_jobs(instance: &Instance, cut_short: impl Future<Output = ()>) {
    let core = &instance.core;
    core.stopping.send_replace(true);
    let grace = instance.settings.config.grace_after_drain();
    let finish = async {
        core.system.drain(grace).await;
        let _ = timeout(DATABASE_TIMEOUT, core.system.return_jobs()).await;
    };
    tokio::select! {
        () = finish => {}
        () = cut_short => core.system.drain(Duration::ZERO).await,
    }
}

/// Records the last changes, stops the actors and closes the records. Call it once the HTTP server has closed: until then, a node sends
/// heartbeats and its calls take locks.
///
/// Returns false if the database of nodes does not answer in time. The process should then exit at once: to drop the instance would also
/// wait for the database.
pub async fn close(instance: &Instance) -> bool {
    let core = &instance.core;
    if let Some(exporter) = &instance.exporter {
        exporter.close().await;
    }
    let close = async {
        maintenance::record_key_uses(&instance.accounts).await;
        core.system.leave().await;
        core.fail_stop.begin_close();
        core.system.stop();
        let engine = Arc::clone(core.store.engine());
        // Blocks until the disk has finished.
        let _ = spawn_blocking(move || engine.close()).await;
    };
    if core.system.node().is_none() {
        close.await;
        return true;
    }
    let is_closed = timeout(DATABASE_TIMEOUT, close).await.is_ok();
    if !is_closed {
        tracing::warn!(
            "the database did not record the end of this node in time; the other nodes take over from it"
        );
    }
    is_closed
}
