//! `GET /metrics`: on the address of the service, or on a separate one.
//!
//! Metrics include the sum of all balances. On the address of the service they need the operator's token, except for direct calls from this
//! machine.

use crate::application::blocking::blocking;
use crate::application::core::Core;
use crate::application::operations::{queue, readiness};
use crate::application::services::JobService;
use crate::observability::metrics::{CONTENT_TYPE, Metrics, Sources, StoredFigures};
use crate::web::auth::authenticate_operator;
use crate::web::no_store;
use crate::web::problem::{Code, HttpResult, Problem};
use crate::web::read_only::read_only;
use actix_web::http::header;
use actix_web::http::uri::Authority;
use actix_web::{HttpRequest, web};
use std::net::IpAddr;
use tintype_storage::domain::tier::Tier;
use tintype_storage::store::StoreError;

/// Routes of the separate address.
pub fn configure(service: &mut web::ServiceConfig) {
    service
        .service(read_only(web::resource("/metrics"), render))
        .default_service(web::to(unknown));
}

/// Serves metrics on the service's address, unless they have a separate one.
pub async fn show(
    request: HttpRequest,
    jobs: web::Data<JobService>,
    metrics: web::Data<Metrics>,
) -> HttpResult {
    if jobs.settings.config.server.metrics_listen.is_some() {
        return unknown().await;
    }
    if !is_direct(&request) {
        authenticate_operator(&request).await?;
    }
    render(jobs, metrics).await
}

/// Headers that proxies add.
const PROXY_HEADERS: [&str; 3] = ["forwarded", "via", "x-real-ip"];

/// Does the call come from this machine, and neither through a proxy nor from the page of a site?
///
/// A site can make its own name resolve to 127.0.0.1 (DNS rebinding). Then browsers on this machine let its pages read the responses of the
/// service, but send the name of the site as `Host`. Proxies usually send the public name.
fn is_direct(request: &HttpRequest) -> bool {
    let is_of_proxy =
        |name: &str| PROXY_HEADERS.contains(&name) || name.starts_with("x-forwarded-");
    let mut names = request.headers().keys();
    request.app_config().local_addr().ip().is_loopback()
        && names_this_machine(request)
        && !names.any(|it| is_of_proxy(it.as_str()))
}

/// Is `Host` a loopback address or `localhost`?
fn names_this_machine(request: &HttpRequest) -> bool {
    let host = request.headers().get(header::HOST);
    let authority = host.and_then(|it| Authority::try_from(it.as_bytes()).ok());
    authority.is_some_and(|it| {
        let name = it.host().trim_start_matches('[').trim_end_matches(']');
        let is_loopback = |it: IpAddr| it.to_canonical().is_loopback();
        name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(is_loopback)
    })
}

async fn render(jobs: web::Data<JobService>, metrics: web::Data<Metrics>) -> HttpResult {
    let core = &jobs.core;
    let stored = match core.store.engine().outage() {
        None => Some(stored_figures(core).await?),
        Some(_) => None,
    };
    // On the blocking pool: it reads files and the accounts.
    let text = blocking(move || {
        let JobService { core, settings, .. } = &**jobs;
        metrics.text(&Sources {
            is_ready: readiness::is_ready(&jobs),
            store: &core.store,
            system: &core.system,
            pause: core.pause.read().clone(),
            stored,
            now: core.now(),
            max_live_jobs: settings.config.jobs.max_live,
            currency: &settings.config.billing.currency,
        })
    });
    let text = text.await?;
    Ok(no_store::ok().content_type(CONTENT_TYPE).body(text))
}

async fn stored_figures(core: &Core) -> Result<StoredFigures, StoreError> {
    let mut oldest_queued = [None; 3];
    for (oldest, tier) in oldest_queued.iter_mut().zip(Tier::ALL) {
        *oldest = queue::oldest_created_at(core, tier).await?;
    }
    Ok(StoredFigures {
        deliveries: core.system.delivery_depths().await,
        oldest_queued,
    })
}

async fn unknown() -> HttpResult {
    let detail = "there is nothing at this path";
    Err(Problem::new(Code::NotFound, detail))
}
