//! The webhooks of an account and their deliveries, as its pages list and change them.

use super::guard::OfAccount;
use crate::api::{answers, requests};
use crate::application::state::AppState;
use crate::application::{deliveries, webhooks};
use crate::web::paging::{self, listing};
use crate::web::problem::Problem;
use crate::web::{body, delivery_list};
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use tintype_api::Redelivery;
use tintype_storage::domain::webhook::Webhook;

type Answer = Result<HttpResponse, Problem>;

pub async fn list(of: OfAccount, request: HttpRequest, state: Data<AppState>) -> Answer {
    let window = paging::window(&request)?;
    let store = &state.store;
    let page = store.webhook_page(of.account.id, window.limit, window.after)?;
    Ok(HttpResponse::Ok().json(listing(page, tintype_api::Webhook::from)))
}

pub async fn register(
    of: OfAccount,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> Answer {
    let body = body::read_json(&request, payload, &state).await?;
    let (target, encoding) = requests::new_webhook(&state, &body)?;
    let account = of.account.id;
    let webhook = webhooks::register(&state, &of.context, account, target, encoding).await?;
    Ok(HttpResponse::Created().json(answers::webhook(&state, webhook)?))
}

/// With its secret: asked for by `POST`, so that looking alone never shows it.
pub async fn show_secret(of: OfAccount, request: HttpRequest, state: Data<AppState>) -> Answer {
    shown(&state, of.webhook(&request, &state)?)
}

pub async fn change(
    of: OfAccount,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> Answer {
    let id = of.webhook(&request, &state)?.id;
    let body = body::read_json(&request, payload, &state).await?;
    let (target, encoding) = requests::webhook_change(&state, &body)?;
    let changed = webhooks::change(&state, &of.context, id, target, encoding).await?;
    shown(&state, changed)
}

pub async fn remove(of: OfAccount, request: HttpRequest, state: Data<AppState>) -> Answer {
    let id = of.webhook(&request, &state)?.id;
    webhooks::delete(&state, &of.context, id).await?;
    Ok(HttpResponse::NoContent().finish())
}

pub async fn test(of: OfAccount, request: HttpRequest, state: Data<AppState>) -> Answer {
    let id = of.webhook(&request, &state)?.id;
    let delivery = webhooks::test(&state, &of.context, id).await?;
    Ok(HttpResponse::Accepted().json(tintype_api::Delivery::new(delivery, Vec::new())))
}

pub async fn rotate_secret(of: OfAccount, request: HttpRequest, state: Data<AppState>) -> Answer {
    let id = of.webhook(&request, &state)?.id;
    let rotated = webhooks::rotate_secret(&state, &of.context, id).await?;
    shown(&state, rotated)
}

pub async fn redeliver_failed(
    of: OfAccount,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> Answer {
    let webhook = of.webhook(&request, &state)?;
    let body = body::read_json(&request, payload, &state).await?;
    let range = requests::redelivery_range(&body)?;
    let made = deliveries::redeliver_range(&state, &of.context, webhook, range).await?;
    Ok(HttpResponse::Accepted().json(Redelivery::new(made.count, made.next)))
}

pub async fn list_deliveries(of: OfAccount, request: HttpRequest, state: Data<AppState>) -> Answer {
    delivery_list::of_account(of.account.id, &request, &state).await
}

pub async fn show_delivery(of: OfAccount, request: HttpRequest, state: Data<AppState>) -> Answer {
    let delivery = of.delivery(&request, &state)?;
    Ok(HttpResponse::Ok().json(answers::delivery(&state, delivery)?))
}

pub async fn redeliver(of: OfAccount, request: HttpRequest, state: Data<AppState>) -> Answer {
    let id = of.delivery(&request, &state)?.id;
    let delivery = deliveries::redeliver(&state, &of.context, id).await?;
    Ok(HttpResponse::Accepted().json(answers::delivery(&state, delivery)?))
}

fn shown(state: &AppState, webhook: Webhook) -> Answer {
    Ok(HttpResponse::Ok().json(answers::webhook(state, webhook)?))
}
