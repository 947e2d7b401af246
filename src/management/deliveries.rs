//! The delivery log: lists deliveries with their attempts, and redelivers.

use crate::api::{answers, requests};
use crate::application::deliveries;
use crate::application::state::AppState;
use crate::web::access::{OfAccount, OfDelivery, OfWebhook, OperatorCall};
use crate::web::problem::Problem;
use crate::web::{body, delivery_list};
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use tintype_api::Redelivery;

type HttpResult = Result<HttpResponse, Problem>;

/// `GET /deliveries`
pub async fn list(_: OperatorCall, request: HttpRequest, state: Data<AppState>) -> HttpResult {
    delivery_list::of_all(&request, &state).await
}

/// `GET /accounts/{account_id}/deliveries`
pub async fn list_of_account(
    of: OfAccount,
    request: HttpRequest,
    state: Data<AppState>,
) -> HttpResult {
    delivery_list::of_account(of.account.id, &request, &state).await
}

/// `GET /deliveries/{delivery_id}`
pub async fn show(of: OfDelivery, state: Data<AppState>) -> HttpResult {
    Ok(HttpResponse::Ok().json(answers::delivery(&state, of.delivery).await?))
}

/// `POST /deliveries/{delivery_id}/redeliver`
pub async fn redeliver(of: OfDelivery, state: Data<AppState>) -> HttpResult {
    let delivery = deliveries::redeliver(&state, &of.caller, of.delivery.id).await?;
    Ok(HttpResponse::Accepted().json(answers::delivery(&state, delivery).await?))
}

/// `POST /webhooks/{webhook_id}/redeliver`: redelivers failed deliveries created in a time range, newest first. One call scans a bounded
/// part of the account's log; the next one continues from `next_cursor`.
pub async fn redeliver_failed(
    of: OfWebhook,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> HttpResult {
    let body = body::read_json(&request, payload, &state).await?;
    let range = requests::redelivery_range(&body)?;
    let redelivered = deliveries::redeliver_range(&state, &of.caller, of.webhook, range).await?;
    Ok(HttpResponse::Accepted().json(Redelivery::new(redelivered.count, redelivered.next)))
}
