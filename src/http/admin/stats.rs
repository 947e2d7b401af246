//! How the service is: queue, running, throughput, back ends, webhooks.

use crate::http::auth::Operator;
use crate::http::failures;
use crate::http::problem::Problem;
use crate::http::state::AppState;
use actix_web::{HttpResponse, web};
use serde_json::{Value, json};
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

/// `GET /stats`
pub async fn show(_: Operator, state: web::Data<AppState>) -> Result<HttpResponse, Problem> {
    Ok(HttpResponse::Ok().json(figures(state).await?))
}

/// The figures of the whole service.
pub async fn figures(state: web::Data<AppState>) -> Result<Value, Problem> {
    let depths = state.system.depths().await;
    let queued: serde_json::Map<_, _> = Tier::ALL
        .iter()
        .map(|tier| (tier.word().to_owned(), depths.queued[tier.index()].into()))
        .collect();
    let shared = state.clone();
    let counted = web::block(move || counts(&shared));
    let (done, failed, pending) = counted.await.map_err(|_| failures::busy())??;
    let backends: Vec<_> = state.system.backends().iter().map(backend).collect();
    Ok(json!({
        "queued": queued,
        "running": depths.running,
        "live_jobs": state.system.live_jobs(),
        "throughput": {"window_seconds": WINDOW.as_secs(), "done": done, "failed": failed},
        "backends": backends,
        "webhooks_pending": pending,
    }))
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

fn backend(backend: &BackendHealth) -> Value {
    json!({
        "name": backend.name,
        "health": match backend.health {
            Health::Up => "up",
            Health::Down => "down",
            Health::Probing => "probing",
        },
        "faults": backend.faults,
        "probe_in_seconds": backend.probe_in.map(|it| it.as_secs()),
        "places": backend.places,
        "running": backend.running,
    })
}
