//! Webhooks and deliveries as only the panel shows them: verified and counted, with the requests that were sent, and the webhook of the
//! operator.

use super::form;
use crate::api::responses;
use crate::application::blocking::blocking;
use crate::application::core::Core;
use crate::application::operations::operator_events;
use crate::application::paging::TimeRange;
use crate::application::services::WebhookService;
use crate::application::settings::Settings;
use crate::application::webhooks;
use crate::application::webhooks::deliveries;
use crate::web::auth::access::{OfAccount, OfDelivery, OfWebhook, OperatorCall};
use crate::web::problem::HttpResult;
use crate::web::queries::query;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tintype_storage::domain::delivery::{Attempt, DeliveryId, DeliveryState};
use tintype_storage::domain::ids::SERVICE;
use tintype_storage::engine::Wait as _;

/// Fits a delivery with the largest metadata with every character escaped.
const MAX_BYTES: usize = 256 << 10;

/// Verifies a received delivery.
pub async fn verify(
    of: OfWebhook,
    request: HttpRequest,
    payload: Payload,
    settings: Data<Settings>,
    webhooks: Data<WebhookService>,
) -> HttpResult {
    let [text] = form::strings(MAX_BYTES, ["delivery"], &request, payload, &settings).await?;
    let verified = webhooks::verify(&webhooks, &of.webhook, &text).await?;
    let checks = verified
        .report
        .verdicts()
        .map(|it| json!({"header": it.header, "verifies": it.verifies, "words": it.words}));
    Ok(HttpResponse::Ok().json(json!({
        "verifies": verified.report.verifies(),
        "is_stale": verified.report.is_stale(),
        "checks": checks,
        "signed_by": verified.signed_by.map(|it| it.url),
    })))
}

/// Counts the failed deliveries in a range; `all` is false if there are more than
/// one call reads.
pub async fn count_failed(of: OfWebhook, request: HttpRequest, core: Data<Core>) -> HttpResult {
    let moment = |name: &str| query::parsed(&request, name, query::moment);
    let (from, to) = (moment("from")?, moment("to")?);
    let range = deliveries::Range {
        created: TimeRange { from, to },
        after: None,
    };
    let (count, all) = deliveries::count_failed(&core, of.webhook, range).await?;
    Ok(HttpResponse::Ok().json(json!({"failed": count, "all": all})))
}

/// Only this many of the account's newest deliveries are counted.
const DELIVERIES: usize = 1_000;

#[derive(Default, Serialize)]
struct Outcomes {
    delivered: usize,
    failed: usize,
    pending: usize,
}

/// Counts by webhook id. `all` is false if the account has more deliveries than were counted.
pub async fn outcomes(of: OfAccount, core: Data<Core>) -> HttpResult {
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

pub async fn sent_requests(of: OfDelivery, core: Data<Core>) -> HttpResult {
    let id = of.delivery.id;
    let attempts = core.store.attempts(id).await?;
    let data: Vec<Value> = attempts.iter().map(|it| sent_request(id, it)).collect();
    Ok(HttpResponse::Ok().json(json!({"data": data})))
}

/// `null` if the attempt sent no request, or ran before requests were recorded.
fn sent_request(id: DeliveryId, attempt: &Attempt) -> Value {
    let Some(sent) = &attempt.sent else {
        return Value::Null;
    };
    let seconds = attempt.at.seconds().to_string();
    json!({
        "headers": {
            "Content-Type": "application/json",
            "X-Signature": sent.x_signature,
            "X-Timestamp": seconds,
            "webhook-id": id.to_string(),
            "webhook-timestamp": seconds,
            "webhook-signature": sent.webhook_signature,
        },
        "body": sent.body,
        "body_bytes": sent.body_bytes,
        "is_whole": sent.is_whole(),
    })
}

const SHOWN: usize = 5;

/// `url` is null without one.
pub async fn of_operator(_: OperatorCall, core: Data<Core>) -> HttpResult {
    let mut deliveries = Vec::with_capacity(SHOWN);
    for delivery in core.store.deliveries_of(SERVICE, SHOWN, None).await?.items {
        deliveries.push(responses::delivery(&core, delivery).await?);
    }
    let webhook = operator_events::webhook(&core);
    Ok(HttpResponse::Ok().json(json!({
        "url": webhook.map(|it| &it.url),
        "deliveries": deliveries,
    })))
}
