//! The response with the statistics of the service.

use crate::application::service_stats::ServiceStats;
use std::time::Duration;
use tintype_actors::backends::{BackendHealth, Health};
use tintype_actors::stats::{RecentFigures, WINDOW};
use tintype_api::{Backend, BackendError, BackendTries, Stats, Throughput};
use tintype_storage::domain::tier::Tier;

pub fn stats(stats: &ServiceStats) -> Stats {
    let tiers = Tier::ALL.iter();
    let queued = tiers.map(|tier| (tier.word(), stats.depths.queued[tier.index()]));
    Stats {
        queued: queued.collect(),
        running: stats.depths.running,
        live_jobs: stats.live_jobs,
        throughput: Throughput {
            window_seconds: WINDOW.as_secs(),
            since: stats.ended.since.into(),
            done: stats.ended.counts[0],
            failed: stats.ended.counts[1],
        },
        backends: stats.backends.iter().map(backend).collect(),
        webhooks_pending: stats.deliveries_pending,
        last_export_at: stats.last_export.map(Into::into),
    }
}

fn backend((backend, recent): &(BackendHealth, RecentFigures)) -> Backend {
    let millis = |it: Duration| u64::try_from(it.as_millis()).unwrap_or(u64::MAX);
    Backend {
        name: backend.name.clone(),
        health: match backend.health {
            Health::Unknown => "unknown".into(),
            Health::Up => "up".into(),
            Health::Degraded => "degraded".into(),
            Health::Down => "down".into(),
            Health::Probing => "probing".into(),
        },
        faults: backend.faults,
        probe_in_seconds: backend.probe_in.map(|it| it.as_secs()),
        places: backend.slots,
        shared: backend.is_shared,
        running: backend.running,
        last_answer_at: backend.last_answer_at.map(Into::into),
        last_error: (backend.last_error.as_ref())
            .map(|it| BackendError::new(None, it.at, it.cause.clone())),
        last_hour: BackendTries {
            tries: recent.tries,
            failed: recent.failed,
            p50_ms: recent.p50.map(millis),
            p95_ms: recent.p95.map(millis),
        },
    }
}
