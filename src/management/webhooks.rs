//! Registers, lists, changes, deletes and tests webhooks, and rotates their secrets.

use crate::api::{requests, responses};
use crate::application::core::Core;
use crate::application::operations::operator_events;
use crate::application::services::WebhookService;
use crate::application::webhooks;
use crate::web::auth::access::{OfAccount, OfWebhook, OperatorCall, WithBody};
use crate::web::problem::HttpResult;
use crate::web::queries::paging::{self, to_page, try_to_page};
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use tintype_api::{Delivery, Webhook};
use tintype_storage::domain::operator_event::EventSubject;
use tintype_storage::store::tables::WEBHOOKS;

pub async fn register(
    WithBody(of, body): WithBody<OfAccount>,
    webhooks: Data<WebhookService>,
) -> HttpResult {
    let new = requests::new_webhook(&webhooks, &body)?;
    let webhook = webhooks::register(&webhooks, &of.caller, of.account.id, new).await?;
    Ok(HttpResponse::Created().json(responses::webhook(&webhooks, webhook)?))
}

/// Includes their secrets.
pub async fn list(
    of: OfAccount,
    request: HttpRequest,
    webhooks: Data<WebhookService>,
) -> HttpResult {
    let window = paging::window(&request)?;
    let store = &webhooks.core.store;
    let page = WEBHOOKS.page(store, &of.account.id, window.limit, window.after);
    let page = page.await?;
    let view = |webhook| responses::webhook(&webhooks, webhook);
    Ok(HttpResponse::Ok().json(try_to_page(page, view)?))
}

/// For the panel, which shows a secret only on request.
pub async fn list_without_secrets(
    of: OfAccount,
    request: HttpRequest,
    core: Data<Core>,
) -> HttpResult {
    let window = paging::window(&request)?;
    let page = WEBHOOKS.page(&core.store, &of.account.id, window.limit, window.after);
    let page = page.await?;
    Ok(HttpResponse::Ok().json(to_page(page, Webhook::from)))
}

/// Includes its secret.
pub async fn show(of: OfWebhook, webhooks: Data<WebhookService>) -> HttpResult {
    Ok(HttpResponse::Ok().json(responses::webhook(&webhooks, of.webhook)?))
}

pub async fn change(
    WithBody(of, body): WithBody<OfWebhook>,
    webhooks: Data<WebhookService>,
) -> HttpResult {
    let change = requests::webhook_change(&webhooks, &body)?;
    let webhook = webhooks::change(&webhooks, &of.caller, of.webhook.id, change).await?;
    Ok(HttpResponse::Ok().json(responses::webhook(&webhooks, webhook)?))
}

pub async fn remove(of: OfWebhook, core: Data<Core>) -> HttpResult {
    webhooks::delete(&core, &of.caller, of.webhook.id).await?;
    Ok(HttpResponse::NoContent().finish())
}

pub async fn rotate(of: OfWebhook, webhooks: Data<WebhookService>) -> HttpResult {
    let webhook = webhooks::rotate_secret(&webhooks, &of.caller, of.webhook.id).await?;
    Ok(HttpResponse::Ok().json(responses::webhook(&webhooks, webhook)?))
}

/// Sends a test delivery.
pub async fn test(of: OfWebhook, core: Data<Core>) -> HttpResult {
    let delivery = webhooks::test(&core, &of.caller, of.webhook.id).await?;
    Ok(HttpResponse::Accepted().json(Delivery::new(delivery, Vec::new())))
}

/// Sends a test event to the webhook of the configuration.
pub async fn test_operator(OperatorCall(caller): OperatorCall, core: Data<Core>) -> HttpResult {
    let delivery = operator_events::test(&core, &caller).await?;
    let response = Delivery::new(delivery, Vec::new()).with_event(Some(&EventSubject::Test));
    Ok(HttpResponse::Accepted().json(response))
}
