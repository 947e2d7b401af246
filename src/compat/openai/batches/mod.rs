//! `/v1/batches`: batches whose requests are in an uploaded file.

mod batch_body;
mod batch_object;
mod creation;
mod input_lines;
pub mod result_lines;

use super::list_query::{self, ListQuery};
use super::object_calls::authenticate;
use super::object_ids::{no_such_batch, parse_batch_id};
use super::unknown_paths::{guarded, not_found, shared_path};
use crate::application::caller::payer::Payer;
use crate::application::error::ErrorKind;
use crate::application::file_batches::{self, FileBatchStatus};
use crate::compat::refusal::{CompatResult, Kind, Refusal};
use crate::compat::state::CompatState;
use crate::web::no_store;
use actix_web::{HttpRequest, web};
use tintype_storage::store::tables::FILE_BATCHES;

const DEFAULT_LIMIT: usize = 20;
const MAX_LIMIT: usize = 100;

pub fn configure(service: &mut web::ServiceConfig) {
    service
        .service(
            guarded(shared_path("/v1/batches"), "GET, POST")
                .post(creation::create)
                .get(list),
        )
        .service(guarded(shared_path("/v1/batches/{batch}"), "GET").get(show))
        .service(guarded(shared_path("/v1/batches/{batch}/cancel"), "POST").post(cancel))
        .service(shared_path("/v1/batches{rest:(/.*)?}").default_service(web::to(not_found)));
}

async fn list(request: HttpRequest, state: web::Data<CompatState>) -> CompatResult {
    let caller = authenticate(&request, &state).await?;
    let query = ListQuery::of(&request);
    let limit = query.limit(DEFAULT_LIMIT, MAX_LIMIT)?;
    let after = match query.get("after") {
        None => None,
        Some(id) => Some(
            *parse_batch_id(id)
                .ok_or_else(|| no_such_batch(id, "after"))?
                .as_bytes(),
        ),
    };
    let page = FILE_BATCHES
        .page(&state.core.store, &caller.account(), limit, after)
        .await?;
    let mut data = Vec::with_capacity(page.items.len());
    for batch in page.items {
        let batch = file_batches::status(&state.core, batch).await?;
        data.push(batch_object::json(&batch, &state));
    }
    Ok(no_store::json(list_query::page(data, page.next.is_some())))
}

async fn show(
    request: HttpRequest,
    path: web::Path<String>,
    state: web::Data<CompatState>,
) -> CompatResult {
    let caller = authenticate(&request, &state).await?;
    let batch = find(&caller, &path, &state).await?;
    Ok(no_store::json(batch_object::json(&batch, &state)))
}

async fn cancel(
    request: HttpRequest,
    path: web::Path<String>,
    state: web::Data<CompatState>,
) -> CompatResult {
    let caller = authenticate(&request, &state).await?;
    let batch = find(&caller, &path, &state).await?;
    let outcome = file_batches::cancel(&state.jobs, &caller, batch).await;
    let batch = outcome.map_err(|error| match error.kind {
        ErrorKind::Conflict => Refusal::new(Kind::Conflict, error.detail),
        _ => error.into(),
    })?;
    Ok(no_store::json(batch_object::json(&batch, &state)))
}

/// A batch of the caller's account. A batch that was submitted without a file counts as unknown.
async fn find(caller: &Payer, id: &str, state: &CompatState) -> Result<FileBatchStatus, Refusal> {
    let found = match parse_batch_id(id) {
        Some(batch) => file_batches::find(&state.core, caller.account(), batch).await?,
        None => None,
    };
    found.ok_or_else(|| no_such_batch(id, "id"))
}
