//! `GET /healthz` and `GET /readyz`, without a token.

use crate::application::nodes;
use crate::application::state::AppState;
use crate::web::problem::{Code, Problem};
use actix_web::{HttpResponse, web};
use std::time::Duration;
use tintype_api::ProcessStatus;
use tokio::time::timeout;

/// How long the records may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// The process answers.
pub async fn healthz() -> HttpResponse {
    HttpResponse::Ok().json(ProcessStatus {
        status: "ok".into(),
    })
}

/// The process can take jobs: its records can be read and written, its object store answers and has room, and as one of several
/// nodes it has joined the others.
pub async fn readyz(state: web::Data<AppState>) -> Result<HttpResponse, Problem> {
    let not_ready = |why: &str| Problem::new(Code::Overloaded, why).retry_after(5);
    if state.fail_stop.has_tripped() {
        return Err(not_ready(
            "the records cannot be written; the service is stopping, and its log says why",
        ));
    }
    if let Some(why) = nodes::reason_not_ready(&state) {
        return Err(not_ready(&why));
    }
    match timeout(PATIENCE, state.store.pause()).await {
        Ok(read) => drop(read?),
        // Others wait for as long as the database may be away; a load balancer wants to know.
        Err(_) => {
            return Err(not_ready(
                "the records cannot be read: the database does not answer",
            ));
        }
    }
    match state.images.probe().await {
        Ok(()) => Ok(HttpResponse::Ok().json(ProcessStatus {
            status: "ready".into(),
        })),
        Err(error) => {
            tracing::warn!(%error, "not ready");
            Err(not_ready(match error.is_full() {
                true => {
                    "the object store is full: pictures cannot be kept before there is room again"
                }
                false => "the object store does not answer",
            }))
        }
    }
}
