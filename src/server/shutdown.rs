//! An orderly stop.

use super::assembly::Instance;
use super::maintenance;
use std::time::Duration;

/// Lets running jobs finish within the grace period and writes down what is left for the next start.
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

/// Ends the actors, writes the last commits and lets the data directory go. Blocks for as long as the disk takes.
pub fn close(instance: &Instance) {
    instance.state.system.stop();
    instance.state.store.engine().close();
}
