//! How the service is: queue, running, throughput, back ends, webhooks.

use crate::http::auth::Operator;
use crate::http::failures;
use crate::http::openapi::kinds;
use crate::http::problem::Problem;
use crate::http::state::AppState;
use actix_web::{HttpResponse, web};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;
use tintype_actors::system::{BackendHealth, Health};
use tintype_storage::domain::job::{Job, JobState};
use tintype_storage::domain::tier::Tier;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::store::{JobWindow, StoreError};

/// The span that throughput is counted over.
const WINDOW: Duration = Duration::from_secs(3_600);
/// How long before that span a job may have been accepted and still count: the age that a queue seldom reaches.
const LOOK_BACK: Duration = Duration::from_secs(6 * 3_600);
/// Jobs looked at per account for throughput, and pending deliveries that are counted.
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
    /// Jobs that are done.
    #[schemars(with = "kinds::Count")]
    done: usize,
    /// Jobs that failed.
    #[schemars(with = "kinds::Count")]
    failed: usize,
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
    let depths = state.system.depths().await;
    let tiers = Tier::ALL.iter();
    let queued = tiers.map(|tier| (tier.word(), depths.queued[tier.index()]));
    let shared = state.clone();
    let counted = web::block(move || counts(&shared));
    let (done, failed, pending) = counted.await.map_err(|_| failures::busy())??;
    Ok(Figures {
        queued: queued.collect(),
        running: depths.running,
        live_jobs: state.system.live_jobs(),
        throughput: Throughput {
            window_seconds: WINDOW.as_secs(),
            done,
            failed,
        },
        backends: state.system.backends().iter().map(backend).collect(),
        webhooks_pending: pending,
    })
}

fn counts(state: &AppState) -> Result<(usize, usize, usize), StoreError> {
    let ago = state.now().millis() - WINDOW.as_millis() as i64;
    let since = Timestamp::from_millis(ago);
    let ended_lately = |job: &Job| match &job.state {
        JobState::Done { finished_at, .. } | JobState::Failed { finished_at, .. } => {
            *finished_at >= since
        }
        JobState::Queued | JobState::Processing { .. } => false,
    };
    let window = JobWindow {
        limit: MOST,
        after: None,
        since: Some(Timestamp::from_millis(ago - LOOK_BACK.as_millis() as i64)),
        most: MOST,
    };
    let page = state.store.all_jobs(window, ended_lately)?;
    let is_done = |job: &&Job| matches!(job.state, JobState::Done { .. });
    let done = page.items.iter().filter(is_done).count();
    let pending = state.store.due(None, MOST)?.len();
    Ok((done, page.items.len() - done, pending))
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
        places: backend.places,
        running: backend.running,
    }
}
