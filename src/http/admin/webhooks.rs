//! Registered webhooks: made, listed, changed, removed, tested, and their secrets rotated.

use super::accounts::find;
use crate::api::{answers, requests};
use crate::application::state::AppState;
use crate::application::webhooks;
use crate::web::auth::Operator;
use crate::web::body;
use crate::web::paging::{self, try_listing};
use crate::web::problem::Problem;
use actix_web::{HttpRequest, HttpResponse, web};
use tintype_storage::domain::webhook::WebhookId;

/// `POST /accounts/{account_id}/webhooks`
pub async fn register(
    operator: Operator,
    path: web::Path<String>,
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let account = find(&state, &path)?;
    let body = body::read_json(&request, payload, &state).await?;
    let (target, encoding) = requests::new_webhook(&state, &body)?;
    let context = &operator.author;
    let webhook = webhooks::register(&state, context, account.id, target, encoding).await?;
    Ok(HttpResponse::Created().json(answers::webhook(&state, webhook)?))
}

/// `GET /accounts/{account_id}/webhooks`
pub async fn list(
    _: Operator,
    path: web::Path<String>,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let account = find(&state, &path)?;
    let window = paging::window(&request)?;
    let page = state
        .store
        .webhook_page(account.id, window.limit, window.after)?;
    let view = |webhook| answers::webhook(&state, webhook);
    Ok(HttpResponse::Ok().json(try_listing(page, view)?))
}

/// `GET /webhooks/{webhook_id}`
pub async fn show(
    _: Operator,
    path: web::Path<String>,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let webhook = webhooks::find(&state, id_of(&path)?)?;
    Ok(HttpResponse::Ok().json(answers::webhook(&state, webhook)?))
}

/// `PATCH /webhooks/{webhook_id}`
pub async fn change(
    operator: Operator,
    path: web::Path<String>,
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let id = id_of(&path)?;
    webhooks::find(&state, id)?;
    let body = body::read_json(&request, payload, &state).await?;
    let (target, encoding) = requests::webhook_change(&state, &body)?;
    let webhook = webhooks::change(&state, &operator.author, id, target, encoding).await?;
    Ok(HttpResponse::Ok().json(answers::webhook(&state, webhook)?))
}

/// `DELETE /webhooks/{webhook_id}`
pub async fn remove(
    operator: Operator,
    path: web::Path<String>,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    webhooks::delete(&state, &operator.author, id_of(&path)?).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// `POST /webhooks/{webhook_id}/rotate-secret`
pub async fn rotate(
    operator: Operator,
    path: web::Path<String>,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let webhook = webhooks::rotate_secret(&state, &operator.author, id_of(&path)?).await?;
    Ok(HttpResponse::Ok().json(answers::webhook(&state, webhook)?))
}

/// `POST /webhooks/{webhook_id}/test`: a delivery that says it is a test.
pub async fn test(
    operator: Operator,
    path: web::Path<String>,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let delivery = webhooks::test(&state, &operator.author, id_of(&path)?).await?;
    Ok(HttpResponse::Accepted().json(tintype_api::Delivery::new(delivery, Vec::new())))
}

/// The id in a path; what is none is no webhook.
pub(super) fn id_of(path: &str) -> Result<WebhookId, Problem> {
    Ok(path.parse().map_err(|_| webhooks::no_webhook())?)
}
