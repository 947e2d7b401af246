//! The webhook for events of the service, which the configuration names, with its last deliveries.

use crate::api::answers;
use crate::application::core::Core;
use crate::application::operator_events;
use crate::web::access::OperatorCall;
use crate::web::problem::HttpResult;
use actix_web::HttpResponse;
use actix_web::web::Data;
use serde_json::json;
use tintype_storage::domain::ids::SERVICE;

const SHOWN: usize = 5;

/// `GET /operator-webhook`: `url` is null without one.
pub async fn show(_: OperatorCall, core: Data<Core>) -> HttpResult {
    let mut deliveries = Vec::with_capacity(SHOWN);
    for delivery in core.store.deliveries_of(SERVICE, SHOWN, None).await?.items {
        deliveries.push(answers::delivery(&core, delivery).await?);
    }
    let webhook = operator_events::webhook(&core);
    Ok(HttpResponse::Ok().json(json!({
        "url": webhook.map(|it| &it.url),
        "deliveries": deliveries,
    })))
}
