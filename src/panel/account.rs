//! What the pages of an account call, passed on to the functions of the operator interface once the guard has let it through.

use super::charts;
use super::guard::OfAccount;
use crate::api::job_record::JobRecord;
use crate::application::error;
use crate::application::state::AppState;
use crate::http::admin::key_view::KeyView;
use crate::http::admin::{accounts, deliveries, jobs, keys, webhooks};
use crate::http::history::{self, Asked};
use crate::http::jobs::not_found;
use crate::web::paging::Listing;
use crate::web::problem::Problem;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse, web};
use serde::Serialize;
use serde_json::json;
use tintype_storage::domain::ids::JobId;

type Answer = Result<HttpResponse, Problem>;

pub async fn show(of: OfAccount, state: Data<AppState>) -> Answer {
    accounts::show(of.operator(), of.path(), state).await
}

pub async fn transactions(of: OfAccount, request: HttpRequest, state: Data<AppState>) -> Answer {
    accounts::transactions(of.operator(), of.path(), request, state).await
}

pub async fn list_jobs(of: OfAccount, request: HttpRequest, state: Data<AppState>) -> Answer {
    let asked = Asked::of(&request)?;
    let (found, next) = history::page(&state, of.account.id, &asked).await?;
    let mut data = Vec::with_capacity(found.len());
    for job in &found {
        data.push(JobRecord::listed(&state, job).await?);
    }
    let next = next.map(|id| *id.as_bytes());
    Ok(HttpResponse::Ok().json(Listing::of(data, next)))
}

fn job_id(of: &OfAccount, request: &HttpRequest) -> Result<JobId, Problem> {
    of.part(request, "job_id").parse().map_err(|_| not_found())
}

pub async fn show_job(of: OfAccount, request: HttpRequest, state: Data<AppState>) -> Answer {
    let id = job_id(&of, &request)?;
    let job = state.store.job(of.account.id, id)?.ok_or_else(not_found)?;
    Ok(HttpResponse::Ok().json(Running {
        record: JobRecord::looked_up(&state, &job).await?,
        progress: state.system.progress(id),
    }))
}

/// A job with how far its picture is. Written as it is, so that the caller's metadata keep their digits and their order.
#[derive(Serialize)]
struct Running<'a> {
    #[serde(flatten)]
    record: JobRecord<'a>,
    progress: Option<f32>,
}

pub async fn cancel(of: OfAccount, request: HttpRequest, state: Data<AppState>) -> Answer {
    let id = job_id(&of, &request)?;
    let job = jobs::cancel_noted(&state, &of.operator(), of.account.id, id).await?;
    Ok(HttpResponse::Ok().json(JobRecord::looked_up(&state, &job).await?))
}

pub async fn list_keys(of: OfAccount, request: HttpRequest, state: Data<AppState>) -> Answer {
    keys::list(of.operator(), of.path(), request, state).await
}

pub async fn create_key(
    of: OfAccount,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> Answer {
    keys::create(of.operator(), of.path(), request, payload, state).await
}

/// With what its jobs came to day by day.
pub async fn show_key(of: OfAccount, request: HttpRequest, state: Data<AppState>) -> Answer {
    let days = charts::asked(&request)?;
    let (_, key) = keys::find_key(&state, &of.key(&request, &state)?)?;
    let (shared, account, id) = (state.clone(), of.account.id, key.id);
    let read = web::block(move || charts::days(&shared, account, Some(id), days)).await;
    let days = read.map_err(|_| error::busy())??;
    let mut view = json!(KeyView::new(&state, key, None)?);
    view["days"] = json!(days);
    Ok(HttpResponse::Ok().json(view))
}

pub async fn rotate_key(
    of: OfAccount,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> Answer {
    let key = of.key(&request, &state)?;
    keys::rotate(of.operator(), key, request, payload, state).await
}

pub async fn change_key(
    of: OfAccount,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> Answer {
    let key = of.key(&request, &state)?;
    keys::change(of.operator(), key, request, payload, state).await
}

pub async fn remove_key(of: OfAccount, request: HttpRequest, state: Data<AppState>) -> Answer {
    let key = of.key(&request, &state)?;
    keys::remove(of.operator(), key, state).await
}

pub async fn list_webhooks(of: OfAccount, request: HttpRequest, state: Data<AppState>) -> Answer {
    webhooks::list_without_secrets(of.account.id, &request, &state)
}

pub async fn register_webhook(
    of: OfAccount,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> Answer {
    webhooks::register(of.operator(), of.path(), request, payload, state).await
}

/// With its secret: asked for by `POST`, so that looking alone never shows it.
pub async fn show_secret(of: OfAccount, request: HttpRequest, state: Data<AppState>) -> Answer {
    let webhook = of.webhook(&request, &state)?;
    webhooks::show(of.operator(), webhook, state).await
}

pub async fn change_webhook(
    of: OfAccount,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> Answer {
    let webhook = of.webhook(&request, &state)?;
    webhooks::change(of.operator(), webhook, request, payload, state).await
}

pub async fn remove_webhook(of: OfAccount, request: HttpRequest, state: Data<AppState>) -> Answer {
    let webhook = of.webhook(&request, &state)?;
    webhooks::remove(of.operator(), webhook, state).await
}

pub async fn test_webhook(of: OfAccount, request: HttpRequest, state: Data<AppState>) -> Answer {
    let webhook = of.webhook(&request, &state)?;
    webhooks::test(of.operator(), webhook, state).await
}

pub async fn rotate_secret(of: OfAccount, request: HttpRequest, state: Data<AppState>) -> Answer {
    let webhook = of.webhook(&request, &state)?;
    webhooks::rotate(of.operator(), webhook, state).await
}

pub async fn redeliver_failed(
    of: OfAccount,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> Answer {
    let webhook = of.webhook(&request, &state)?;
    deliveries::redeliver_failed(of.operator(), webhook, request, payload, state).await
}

pub async fn list_deliveries(of: OfAccount, request: HttpRequest, state: Data<AppState>) -> Answer {
    deliveries::list_of(of.account.id, &request, &state).await
}

pub async fn show_delivery(of: OfAccount, request: HttpRequest, state: Data<AppState>) -> Answer {
    let delivery = of.delivery(&request, &state)?;
    deliveries::show(of.operator(), delivery, state).await
}

pub async fn redeliver(of: OfAccount, request: HttpRequest, state: Data<AppState>) -> Answer {
    let delivery = of.delivery(&request, &state)?;
    deliveries::redeliver(of.operator(), delivery, state).await
}
