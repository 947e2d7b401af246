//! Graceful shutdown.

use super::assembly::Instance;
use super::maintenance;

/// Lets running jobs finish within the grace period. The next start resumes the others.
pub async fn finish_jobs(instance: &Instance) {
    let core = &instance.core;
    core.stopping.send_replace(true);
    let grace = instance.settings.config.server.shutdown_grace();
    core.system.drain(grace).await;
    maintenance::note_key_uses(&instance.accounts).await;
    core.system.leave().await;
    if let Some(exporter) = &instance.exporter {
        exporter.close().await;
    }
}

/// Stops the actors, writes the last commits and releases the data directory. Blocks until the disk has finished.
pub fn close(instance: &Instance) {
    instance.core.fail_stop.begin_close();
    instance.core.system.stop();
    instance.core.store.engine().close();
}
