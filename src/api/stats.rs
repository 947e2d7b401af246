//! The response with the statistics of the service: queue, running jobs, throughput, backends, webhooks.

use crate::application::blocking::blocking;
use crate::application::core::Core;
use crate::application::error::Error;
use crate::application::operations::pause;
use std::time::Duration;
use tintype_actors::backends::{BackendHealth, Health};
use tintype_actors::stats::{RecentFigures, WINDOW};
use tintype_api::{Backend, BackendError, BackendTries, Stats, Throughput};
use tintype_storage::domain::tier::Tier;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::tables::LAST_BACKUP_OR_EXPORT;

/// The count of pending deliveries stops here.
const MAX_COUNTED: usize = 10_000;

pub async fn stats(core: &Core) -> Result<Stats, Error> {
    let store = core.store.clone();
    let pending = blocking(move || store.pending_deliveries(MAX_COUNTED).wait());
    let webhooks_pending = pending.await?;
    let (stats, now) = (core.system.stats(), core.now());
    let depths = core.system.queue().depths();
    let queued = Tier::ALL.iter();
    let queued = queued.map(|tier| (tier.as_str().into(), depths.queued[tier.index()]));
    let ended = stats.jobs.recent.counts(now, WINDOW);
    let recent = stats.backends.iter().map(|it| it.recent.figures(now));
    let pauses = pause::of_backends(core).await?;
    let backends = core.system.backends().into_iter().zip(recent);
    let backends = backends.map(|(it, recent)| {
        let pause = pauses.of(&it.name).cloned();
        backend(BackendHealth { pause, ..it }, recent)
    });
    Ok(Stats {
        queued: queued.collect(),
        running: depths.running,
        live_jobs: core.system.queue().live(),
        throughput: Throughput {
            window_seconds: WINDOW.as_secs(),
            since: ended.since.into(),
            done: ended.counts[0],
            failed: ended.counts[1] + ended.counts[2],
            canceled: ended.counts[2],
        },
        backends: backends.collect(),
        webhooks_pending,
        last_export_at: LAST_BACKUP_OR_EXPORT
            .get(&core.store, &())
            .await?
            .map(Into::into),
    })
}

fn backend(backend: BackendHealth, recent: RecentFigures) -> Backend {
    let millis = |it: Duration| u64::try_from(it.as_millis()).unwrap_or(u64::MAX);
    Backend {
        name: backend.name,
        health: match backend.health {
            Health::Unknown => "unknown".into(),
            Health::Up => "up".into(),
            Health::Degraded => "degraded".into(),
            Health::Down => "down".into(),
            Health::Probing => "probing".into(),
        },
        paused: backend.pause.is_some(),
        paused_reason: backend.pause.and_then(|it| it.reason),
        faults: backend.faults,
        probe_in_seconds: backend.probe_in.map(|it| it.as_secs()),
        places: backend.slots,
        shared: backend.is_shared,
        running: backend.running,
        last_answer_at: backend.last_answer_at.map(Into::into),
        last_error: (backend.last_error).map(|it| BackendError::new(None, it.at, it.cause)),
        last_hour: BackendTries {
            tries: recent.attempts,
            failed: recent.failed,
            p50_ms: recent.p50.map(millis),
            p95_ms: recent.p95.map(millis),
        },
    }
}
