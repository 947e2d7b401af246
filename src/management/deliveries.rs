//! The delivery log: lists deliveries with their attempts, and redelivers.

use crate::api::{requests, responses};
use crate::application::core::Core;
use crate::application::settings::Settings;
use crate::application::webhooks::deliveries;
use crate::web::auth::access::{OfAccount, OfDelivery, OfWebhook, OperatorCall};
use crate::web::body;
use crate::web::problem::HttpResult;
use crate::web::queries::delivery_list;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};

pub async fn list(_: OperatorCall, request: HttpRequest, core: Data<Core>) -> HttpResult {
    delivery_list::for_all_accounts(&request, &core).await
}

pub async fn list_of_account(of: OfAccount, request: HttpRequest, core: Data<Core>) -> HttpResult {
    delivery_list::for_account(of.account.id, &request, &core).await
}

pub async fn show(of: OfDelivery, core: Data<Core>) -> HttpResult {
    Ok(HttpResponse::Ok().json(responses::delivery(&core, of.delivery).await?))
}

pub async fn redeliver(of: OfDelivery, core: Data<Core>) -> HttpResult {
    let delivery = deliveries::redeliver(&core, &of.caller, of.delivery.id).await?;
    Ok(HttpResponse::Accepted().json(responses::delivery(&core, delivery).await?))
}

/// Redelivers failed deliveries created in a time range, newest first. One call scans a bounded
/// part of the account's log; the next one continues from `next_cursor`.
pub async fn redeliver_failed(
    of: OfWebhook,
    request: HttpRequest,
    payload: Payload,
    core: Data<Core>,
    settings: Data<Settings>,
) -> HttpResult {
    let body = body::read_optional_json(&request, payload, &settings).await?;
    let range = requests::redelivery_range(body.as_deref())?;
    let redelivered = deliveries::redeliver_range(&core, &of.caller, of.webhook, range).await?;
    Ok(HttpResponse::Accepted().json(redelivered))
}
