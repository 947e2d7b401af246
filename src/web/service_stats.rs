//! How the service is: queue, running, throughput, back ends, webhooks.

use crate::application::error;
use crate::application::state::AppState;
use crate::web::auth::Operator;
use crate::web::problem::Problem;
use actix_web::{HttpResponse, web};
use tintype_actors::backends::{BackendHealth, Health};
use tintype_actors::stats::WINDOW;
use tintype_api::{Backend, Stats, Throughput};
use tintype_storage::domain::tier::Tier;
use tintype_storage::store::StoreError;

/// Pending deliveries that are counted.
const MOST: usize = 10_000;

/// `GET /stats`
pub async fn show(_: Operator, state: web::Data<AppState>) -> Result<HttpResponse, Problem> {
    Ok(HttpResponse::Ok().json(figures(state).await?))
}

/// The figures of the whole service.
pub async fn figures(state: web::Data<AppState>) -> Result<Stats, Problem> {
    let depths = state.system.depths();
    let tiers = Tier::ALL.iter();
    let queued = tiers.map(|tier| (tier.word(), depths.queued[tier.index()]));
    let store = state.store.clone();
    let due = web::block(move || Ok::<_, StoreError>(store.due(None, MOST)?.len()));
    let pending = due.await.map_err(|_| error::busy())??;
    let ended = state.system.stats().jobs.recent.ended(state.now());
    Ok(Stats {
        queued: queued.collect(),
        running: depths.running,
        live_jobs: state.system.live_jobs(),
        throughput: Throughput {
            window_seconds: WINDOW.as_secs(),
            since: ended.since.into(),
            done: ended.done,
            failed: ended.failed,
        },
        backends: state.system.backends().iter().map(backend).collect(),
        webhooks_pending: pending,
    })
}

fn backend(backend: &BackendHealth) -> Backend {
    Backend {
        name: backend.name.clone(),
        health: match backend.health {
            Health::Up => "up".into(),
            Health::Down => "down".into(),
            Health::Probing => "probing".into(),
        },
        faults: backend.faults,
        probe_in_seconds: backend.probe_in.map(|it| it.as_secs()),
        places: backend.slots,
        running: backend.running,
    }
}
