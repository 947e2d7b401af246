//! The delivery log: what was sent, what came back, and sending again.

use super::webhooks;
use crate::api::{answers, requests};
use crate::application::state::AppState;
use crate::application::{deliveries, webhooks::find as find_webhook};
use crate::web::auth::Operator;
use crate::web::problem::Problem;
use crate::web::{body, delivery_list};
use actix_web::{HttpRequest, HttpResponse, web};
use tintype_api::Redelivery;
use tintype_storage::domain::delivery::DeliveryId;

/// `GET /deliveries`
pub async fn list(
    _: Operator,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    delivery_list::of_all(&request, &state).await
}

/// `GET /deliveries/{delivery_id}`
pub async fn show(
    _: Operator,
    path: web::Path<String>,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let delivery = deliveries::find(&state, id_of(&path)?)?;
    Ok(HttpResponse::Ok().json(answers::delivery(&state, delivery)?))
}

/// `POST /deliveries/{delivery_id}/redeliver`
pub async fn redeliver(
    operator: Operator,
    path: web::Path<String>,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let delivery = deliveries::redeliver(&state, &operator.author, id_of(&path)?).await?;
    Ok(HttpResponse::Accepted().json(answers::delivery(&state, delivery)?))
}

/// `POST /webhooks/{webhook_id}/redeliver`: failed ones of a webhook that were created in a range of time, newest first. One
/// call looks at a bounded part of the account's log; `next_cursor` goes on from there.
pub async fn redeliver_failed(
    operator: Operator,
    path: web::Path<String>,
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let webhook = find_webhook(&state, webhooks::id_of(&path)?)?;
    let body = body::read_json(&request, payload, &state).await?;
    let range = requests::redelivery_range(&body)?;
    let made = deliveries::redeliver_range(&state, &operator.author, webhook, range).await?;
    Ok(HttpResponse::Accepted().json(Redelivery::new(made.count, made.next)))
}

fn id_of(path: &str) -> Result<DeliveryId, Problem> {
    Ok(path.parse().map_err(|_| deliveries::no_delivery())?)
}
