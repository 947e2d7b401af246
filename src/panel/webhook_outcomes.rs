//! Counts the deliveries of each webhook by state.

use crate::application::blocking::blocking;
use crate::application::core::Core;
use crate::web::access::OfAccount;
use crate::web::problem::HttpResult;
use actix_web::{HttpResponse, web};
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeMap;
use tintype_storage::domain::delivery::DeliveryState;
use tintype_storage::engine::Wait as _;

/// Only this many of the account's newest deliveries are counted.
const DELIVERIES: usize = 1_000;

#[derive(Default, Serialize)]
struct Outcomes {
    delivered: usize,
    failed: usize,
    pending: usize,
}

/// `GET /webhook-outcomes`: counts by webhook id. `all` is false if the account has more deliveries than were counted.
pub async fn show(of: OfAccount, core: web::Data<Core>) -> HttpResult {
    let read = blocking(move || {
        let newest = core.store.deliveries_of(of.account.id, DELIVERIES, None);
        newest.wait()
    });
    let newest = read.await?;
    let mut webhooks: BTreeMap<String, Outcomes> = BTreeMap::new();
    for delivery in newest.items {
        let outcomes = webhooks.entry(delivery.webhook.to_string()).or_default();
        match delivery.state {
            DeliveryState::Delivered { .. } => outcomes.delivered += 1,
            DeliveryState::Failed { .. } => outcomes.failed += 1,
            DeliveryState::Pending { .. } => outcomes.pending += 1,
        }
    }
    let view = json!({"webhooks": webhooks, "all": newest.next.is_none()});
    Ok(HttpResponse::Ok().json(view))
}
