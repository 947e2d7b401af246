//! Graceful shutdown.

use super::assembly::Instance;
use super::maintenance;
use std::time::Duration;

/// Lets running jobs finish within the grace period, which `cut_short` ends early. The next start resumes the others.
pub async fn finish_jobs(instance: &Instance, cut_short: impl Future<Output = ()>) {
    let core = &instance.core;
    core.stopping.send_replace(true);
    let grace = instance.settings.config.server.shutdown_grace();
    tokio::select! {
        () = core.system.drain(grace) => {}
        () = cut_short => core.system.drain(Duration::ZERO).await,
    }
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
