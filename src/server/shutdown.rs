//! Graceful shutdown.

use super::assembly::Instance;
use super::maintenance;
use std::time::Duration;

/// Lets running jobs finish within the grace period. The next start resumes the others.
pub async fn finish_jobs(instance: &Instance) {
    let state = &instance.state;
    state.stopping.send_replace(true);
    let grace = Duration::from_secs(state.config.server.shutdown_grace_seconds);
    state.system.drain(grace).await;
    maintenance::note_key_uses(state).await;
    state.system.leave().await;
    if let Some(exporter) = &instance.exporter {
        exporter.close().await;
    }
}

/// Stops the actors, writes the last commits and releases the data directory. Blocks until the disk has finished.
pub fn close(instance: &Instance) {
    instance.state.system.stop();
    instance.state.store.engine().close();
}
