//! Batches: many requests in one call.

use super::long_poll;
use crate::api::answers;
use crate::api::batch::Form;
use crate::application::batches::{self, BatchWithProgress};
use crate::application::caller::Caller;
use crate::application::state::AppState;
use crate::application::submit_batch;
use crate::web::auth::Principal;
use crate::web::body::{self, MediaType};
use crate::web::paging;
use crate::web::problem::Problem;
use crate::web::{batch_call, batch_lines};
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use tintype_storage::domain::batch::BatchStatus;

/// `POST /batches`
pub async fn create(
    principal: Principal,
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let caller = &principal.caller;
    submit_batch::begin(&state, caller).await?;
    let form = match body::media_type(&request)? {
        Some(MediaType::Json) => Form::Json,
        Some(MediaType::Lines) => Form::Lines,
        None => {
            let expected = "send the body as `Content-Type: application/json`, or as `application/x-ndjson` with one request per line";
            return Err(body::unsupported(expected));
        }
    };
    let account = caller.account();
    let body = batch_call::receive(&request, payload, &state, account, 0).await?;
    let parsed = batch_call::parse(&state, account, body.bytes.clone(), form).await?;
    batch_call::submit(&state, caller, &request, parsed).await
}

/// `GET /batches`
pub async fn list(
    principal: Principal,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let window = paging::window(&request)?;
    principal.admit()?;
    let page = batches::page_of(&state, principal.caller.account(), window).await?;
    let mut answer = HttpResponse::Ok();
    answer.insert_header((header::CACHE_CONTROL, "no-store"));
    Ok(answer.json(answers::batches(&state, page).await))
}

/// `GET /batches/{batch_id}`, at once or, when the caller asks for that, once the batch has ended.
pub async fn show(
    principal: Principal,
    request: HttpRequest,
    path: web::Path<String>,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let (batch, progress) = find(&principal, &path, &state).await?;
    let patience = long_poll::asked(&request)?;
    principal.admit()?;
    let progress = match patience.filter(|_| progress.status() != BatchStatus::Ended) {
        Some(patience) => batches::until_ended(&state, &batch, patience.span()).await?,
        None => progress,
    };
    let mut response = answer(&state, &(batch, progress)).await?;
    if let Some(patience) = patience {
        patience.tell(response.headers_mut());
    }
    Ok(response)
}

/// `DELETE /batches/{batch_id}`: cancels what is still queued.
pub async fn cancel(
    principal: Principal,
    path: web::Path<String>,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let (batch, _) = find(&principal, &path, &state).await?;
    principal.admit()?;
    let caller = Caller::ApiKey(principal.caller);
    let batch = batches::cancel(&state, &caller, batch).await?;
    answer(&state, &batch).await
}

/// The caller's batch of a path; one of another account is not told apart from one that does not exist.
async fn find(
    principal: &Principal,
    path: &str,
    state: &AppState,
) -> Result<BatchWithProgress, Problem> {
    Ok(batches::find(state, principal.caller.account(), path).await?)
}

async fn answer(state: &AppState, batch: &BatchWithProgress) -> Result<HttpResponse, Problem> {
    let mut answer = HttpResponse::Ok();
    answer.insert_header((header::CACHE_CONTROL, "no-store"));
    Ok(answer.json(answers::batch(state, batch).await?))
}

/// `GET /batches/{batch_id}/results`: a line for each request, in their order.
pub async fn results(
    principal: Principal,
    request: HttpRequest,
    path: web::Path<String>,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let (batch, _) = find(&principal, &path, &state).await?;
    principal.admit()?;
    Ok(batch_lines::results(&request, state, batch))
}
