//! How the service is: queue, running, throughput, back ends, webhooks.

use crate::api::kinds;
use crate::application::error;
use crate::application::state::AppState;
use crate::web::auth::Operator;
use crate::web::problem::Problem;
use actix_web::{HttpResponse, web};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use tintype_actors::backends::{BackendHealth, Health};
use tintype_actors::stats::WINDOW;
use tintype_storage::domain::tier::Tier;
use tintype_storage::store::StoreError;

/// Pending deliveries that are counted.
const MOST: usize = 10_000;

/// The figures of the whole service.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Stats", deny_unknown_fields)]
pub struct Figures {
    /// Jobs that wait, by model.
    #[schemars(with = "kinds::PerTier<kinds::Count>")]
    queued: BTreeMap<&'static str, usize>,
    /// Jobs that are being processed.
    #[schemars(with = "kinds::Count")]
    running: usize,
    /// Jobs that are not over.
    #[schemars(with = "kinds::Count")]
    live_jobs: usize,
    /// What the last hour has brought.
    throughput: Throughput,
    /// The back ends, in the order of their names.
    backends: Vec<Backend>,
    /// Deliveries that are pending; at 10,000 the counting stops.
    #[schemars(with = "kinds::Count")]
    webhooks_pending: usize,
}

/// Jobs that have ended lately.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Throughput {
    /// The span that is counted over.
    #[schemars(with = "kinds::Count")]
    window_seconds: u64,
    /// What ended before this moment is not counted: the span's beginning, or the service's start where that is later.
    #[schemars(with = "kinds::Moment")]
    since: String,
    /// Jobs that are done.
    #[schemars(with = "kinds::Count")]
    done: u64,
    /// Jobs that failed.
    #[schemars(with = "kinds::Count")]
    failed: u64,
}

/// How a back end is.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Backend {
    /// The operator's name for it.
    name: String,
    /// Whether it is used: `probing` is on its way up again.
    #[schemars(with = "kinds::HealthWord")]
    health: &'static str,
    /// Faults in a row, while it is up.
    #[schemars(with = "kinds::Count")]
    faults: u32,
    /// Seconds until the next probe, while it is down.
    #[schemars(with = "Option<kinds::Count>")]
    probe_in_seconds: Option<u64>,
    /// Runs that it takes at a time.
    #[schemars(with = "kinds::Count")]
    places: usize,
    /// Runs that it has.
    #[schemars(with = "kinds::Count")]
    running: usize,
}

/// `GET /stats`
pub async fn show(_: Operator, state: web::Data<AppState>) -> Result<HttpResponse, Problem> {
    Ok(HttpResponse::Ok().json(figures(state).await?))
}

/// The figures of the whole service.
pub async fn figures(state: web::Data<AppState>) -> Result<Figures, Problem> {
    let depths = state.system.depths();
    let tiers = Tier::ALL.iter();
    let queued = tiers.map(|tier| (tier.word(), depths.queued[tier.index()]));
    let store = state.store.clone();
    let due = web::block(move || Ok::<_, StoreError>(store.due(None, MOST)?.len()));
    let pending = due.await.map_err(|_| error::busy())??;
    let ended = state.system.stats().jobs.recent.ended(state.now());
    Ok(Figures {
        queued: queued.collect(),
        running: depths.running,
        live_jobs: state.system.live_jobs(),
        throughput: Throughput {
            window_seconds: WINDOW.as_secs(),
            since: ended.since.to_string(),
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
            Health::Up => "up",
            Health::Down => "down",
            Health::Probing => "probing",
        },
        faults: backend.faults,
        probe_in_seconds: backend.probe_in.map(|it| it.as_secs()),
        places: backend.slots,
        running: backend.running,
    }
}
