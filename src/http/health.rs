//! `GET /healthz` and `GET /readyz`, without a token.

use crate::application::nodes;
use crate::application::services::JobService;
use crate::web::problem::{Code, HttpResult, Problem};
use actix_web::{HttpResponse, web};
use std::time::Duration;
use tintype_api::ProcessStatus;
use tokio::time::timeout;

/// How long the store may take to respond.
const READ_TIMEOUT: Duration = Duration::from_secs(2);

/// The process is alive.
pub async fn healthz() -> HttpResponse {
    HttpResponse::Ok().json(ProcessStatus {
        status: "ok".into(),
    })
}

/// The process can accept jobs: its store is readable and writable, its object store responds and has space, and it has joined the other
/// nodes, if there are any.
pub async fn readyz(jobs: web::Data<JobService>) -> HttpResult {
    let core = &jobs.core;
    let not_ready = |why: &str| Problem::new(Code::Overloaded, why).retry_after(5);
    if core.fail_stop.has_tripped() {
        return Err(not_ready(
            "the service cannot write its records and is stopping; see its log",
        ));
    }
    if let Some(why) = nodes::reason_not_ready(core) {
        return Err(not_ready(&why));
    }
    match timeout(READ_TIMEOUT, core.store.pause()).await {
        Ok(read) => drop(read?),
        // Other calls wait out a database outage, but a load balancer must know of it.
        Err(_) => {
            return Err(not_ready(
                "the service cannot read its records: the database does not respond",
            ));
        }
    }
    jobs.objects.recent_probe().await.map_err(not_ready)?;
    Ok(HttpResponse::Ok().json(ProcessStatus {
        status: "ready".into(),
    }))
}
