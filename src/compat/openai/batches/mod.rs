//! `/v1/batches`: batches that are submitted as uploaded files.

mod asked_batch;
mod batch_object;
mod creation;
mod input_lines;
pub mod result_lines;

use super::list_query::{self, ListQuery};
use super::object_calls::{admitted, answered};
use super::object_ids::{no_batch, read_batch};
use super::unknown_paths::{self, shared_path};
use crate::application::error::ErrorKind;
use crate::application::file_batches::{self, FileBatchStatus};
use crate::application::payer::Payer;
use crate::compat::refusal::{Kind, Refusal};
use crate::compat::state::CompatState;
use crate::web::catch_panic::Walled;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::Value;
use tintype_storage::engine::Direction;

/// Batches of a page, where the caller names no number.
const DEFAULT_LIMIT: usize = 20;
const MAX_LIMIT: usize = 100;

/// Adds the routes.
pub fn configure(service: &mut web::ServiceConfig) {
    service
        .service(
            shared_path("/v1/batches")
                .route(web::post().to(Walled(creation::create)))
                .route(web::get().to(Walled(list)))
                .default_service(web::to(unknown_paths::only_get_or_post)),
        )
        .service(
            shared_path("/v1/batches/{batch}")
                .route(web::get().to(Walled(show)))
                .default_service(web::to(unknown_paths::only_get)),
        )
        .service(
            shared_path("/v1/batches/{batch}/cancel")
                .route(web::post().to(Walled(cancel)))
                .default_service(web::to(unknown_paths::only_post)),
        )
        .service(
            shared_path("/v1/batches{rest:(/.*)?}")
                .default_service(web::to(unknown_paths::nothing_there)),
        );
}

async fn list(request: HttpRequest, state: web::Data<CompatState>) -> HttpResponse {
    answered(listed(&request, &state).await)
}

async fn listed(request: &HttpRequest, state: &CompatState) -> Result<Value, Refusal> {
    let caller = admitted(request, state).await?;
    let query = ListQuery::of(request);
    let limit = query.limit(DEFAULT_LIMIT, MAX_LIMIT)?;
    let after = match query.get("after") {
        None => None,
        Some(id) => Some(*read_batch(id).ok_or_else(|| no_batch(id))?.as_bytes()),
    };
    let page = state
        .store
        .file_batches(caller.account(), Direction::Falling, limit, after)
        .await?;
    let mut data = Vec::with_capacity(page.items.len());
    for batch in page.items {
        let batch = file_batches::status(state, batch).await?;
        data.push(batch_object::json(&batch, state));
    }
    Ok(list_query::page(data, page.next.is_some()))
}

async fn show(
    request: HttpRequest,
    path: web::Path<String>,
    state: web::Data<CompatState>,
) -> HttpResponse {
    answered(shown(&request, &path, &state).await)
}

async fn shown(request: &HttpRequest, id: &str, state: &CompatState) -> Result<Value, Refusal> {
    let caller = admitted(request, state).await?;
    let batch = find(&caller, id, state).await?;
    Ok(batch_object::json(&batch, state))
}

async fn cancel(
    request: HttpRequest,
    path: web::Path<String>,
    state: web::Data<CompatState>,
) -> HttpResponse {
    answered(canceled(&request, &path, &state).await)
}

async fn canceled(
    request: &HttpRequest,
    id: &str,
    state: &web::Data<CompatState>,
) -> Result<Value, Refusal> {
    let caller = admitted(request, state).await?;
    let batch = find(&caller, id, state).await?;
    let outcome = file_batches::cancel(&state.app, &caller, batch).await;
    let batch = outcome.map_err(|error| match error.kind {
        ErrorKind::Conflict => Refusal::new(Kind::Conflict, error.detail),
        _ => error.into(),
    })?;
    Ok(batch_object::json(&batch, state))
}

/// A batch of the caller's account. One that was submitted without a file is not told apart from one that does not exist.
async fn find(caller: &Payer, id: &str, state: &CompatState) -> Result<FileBatchStatus, Refusal> {
    let found = match read_batch(id) {
        Some(batch) => file_batches::find(state, caller.account(), batch).await?,
        None => None,
    };
    found.ok_or_else(|| no_batch(id))
}
