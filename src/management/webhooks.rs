//! Registers, lists, changes, deletes and tests webhooks, and rotates their secrets.

use crate::api::{answers, requests};
use crate::application::state::AppState;
use crate::application::{operator_events, webhooks};
use crate::web::access::{OfAccount, OfWebhook, OperatorCall};
use crate::web::body;
use crate::web::paging::{self, listing, try_listing};
use crate::web::problem::Problem;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use tintype_api::{Delivery, Webhook};

type HttpResult = Result<HttpResponse, Problem>;

/// `POST /accounts/{account_id}/webhooks`
pub async fn register(
    of: OfAccount,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> HttpResult {
    let body = body::read_json(&request, payload, &state).await?;
    let new = requests::new_webhook(&state, &body)?;
    let webhook = webhooks::register(&state, &of.caller, of.account.id, new).await?;
    Ok(HttpResponse::Created().json(answers::webhook(&state, webhook)?))
}

/// `GET /accounts/{account_id}/webhooks`, with their secrets
pub async fn list(of: OfAccount, request: HttpRequest, state: Data<AppState>) -> HttpResult {
    let window = paging::window(&request)?;
    let store = &state.store;
    let page = store
        .webhook_page(of.account.id, window.limit, window.after)
        .await?;
    let view = |webhook| answers::webhook(&state, webhook);
    Ok(HttpResponse::Ok().json(try_listing(page, view)?))
}

/// For the panel, which shows a secret only on request.
pub async fn list_without_secrets(
    of: OfAccount,
    request: HttpRequest,
    state: Data<AppState>,
) -> HttpResult {
    let window = paging::window(&request)?;
    let store = &state.store;
    let page = store
        .webhook_page(of.account.id, window.limit, window.after)
        .await?;
    Ok(HttpResponse::Ok().json(listing(page, Webhook::from)))
}

/// `GET /webhooks/{webhook_id}`, with its secret
pub async fn show(of: OfWebhook, state: Data<AppState>) -> HttpResult {
    Ok(HttpResponse::Ok().json(answers::webhook(&state, of.webhook)?))
}

/// `PATCH /webhooks/{webhook_id}`
pub async fn change(
    of: OfWebhook,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> HttpResult {
    let body = body::read_json(&request, payload, &state).await?;
    let change = requests::webhook_change(&state, &body)?;
    let webhook = webhooks::change(&state, &of.caller, of.webhook.id, change).await?;
    Ok(HttpResponse::Ok().json(answers::webhook(&state, webhook)?))
}

/// `DELETE /webhooks/{webhook_id}`
pub async fn remove(of: OfWebhook, state: Data<AppState>) -> HttpResult {
    webhooks::delete(&state, &of.caller, of.webhook.id).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// `POST /webhooks/{webhook_id}/rotate-secret`
pub async fn rotate(of: OfWebhook, state: Data<AppState>) -> HttpResult {
    let webhook = webhooks::rotate_secret(&state, &of.caller, of.webhook.id).await?;
    Ok(HttpResponse::Ok().json(answers::webhook(&state, webhook)?))
}

/// `POST /webhooks/{webhook_id}/test`: sends a test delivery.
pub async fn test(of: OfWebhook, state: Data<AppState>) -> HttpResult {
    let delivery = webhooks::test(&state, &of.caller, of.webhook.id).await?;
    Ok(HttpResponse::Accepted().json(Delivery::new(delivery, Vec::new())))
}

/// `POST /operator-webhook/test`: sends a test event to the webhook of the configuration.
pub async fn test_operator(
    OperatorCall(caller): OperatorCall,
    state: Data<AppState>,
) -> HttpResult {
    let delivery = operator_events::test(&state, &caller).await?;
    Ok(HttpResponse::Accepted().json(Delivery::new(delivery, Vec::new())))
}
