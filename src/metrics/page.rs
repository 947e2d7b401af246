//! `GET /metrics`, without a token: beside everything else, or on an address of its own.

use super::exposition::{CONTENT_TYPE, Exposition};
use super::{backends, jobs, process, store, traces, webhooks};
use crate::http::failures;
use crate::http::problem::{Code, Problem};
use crate::http::state::AppState;
use actix_web::http::header;
use actix_web::{HttpResponse, web};
use tintype_actors::delivery::OutboxDepths;
use tintype_storage::store::StoreError;

/// The path on an address of its own, and no other.
pub fn configure(service: &mut web::ServiceConfig) {
    service
        .service(
            web::resource("/metrics")
                .route(web::get().to(answer))
                .route(web::head().to(answer))
                .default_service(web::to(wrong_method)),
        )
        .default_service(web::to(unknown));
}

/// The path on the service's own address, where the figures have no other.
pub async fn show(state: web::Data<AppState>) -> Result<HttpResponse, Problem> {
    if state.config.server.metrics_listen.is_some() {
        return unknown().await;
    }
    answer(state).await
}

async fn answer(state: web::Data<AppState>) -> Result<HttpResponse, Problem> {
    let depths = state.system.outbox().await;
    // Apart from the worker: it reads files and the accounts.
    let text = web::block(move || text(&state, depths)).await;
    let text = text.map_err(|_| failures::busy())??;
    let mut answer = HttpResponse::Ok();
    answer.content_type(CONTENT_TYPE);
    answer.insert_header((header::CACHE_CONTROL, "no-store"));
    Ok(answer.body(text))
}

fn text(state: &AppState, depths: OutboxDepths) -> Result<String, StoreError> {
    let mut told = Exposition::default();
    let metrics = &state.metrics;
    process::tell(&mut told, metrics.started);
    metrics.requests.tell(&mut told);
    jobs::tell(&mut told, state);
    backends::tell(&mut told, state);
    store::tell(&mut told, state);
    let currency = &state.config.billing.currency;
    metrics.ledger.tell(&mut told, &state.store, currency)?;
    webhooks::tell(&mut told, state, depths);
    traces::tell(&mut told, state.traces.as_deref());
    Ok(told.into_text())
}

async fn unknown() -> Result<HttpResponse, Problem> {
    let detail = "there is nothing at this path";
    Err(Problem::new(Code::NotFound, detail))
}

async fn wrong_method() -> Result<HttpResponse, Problem> {
    Err(Problem::method_not_allowed("GET, HEAD"))
}
