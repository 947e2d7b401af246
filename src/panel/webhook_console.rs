//! Manual work on webhooks: verify a received delivery, and count failed deliveries before sending them again.

use crate::application::core::Core;
use crate::application::services::WebhookService;
use crate::application::settings::Settings;
use crate::application::{deliveries, webhooks};
use crate::web::access::OfWebhook;
use crate::web::body;
use crate::web::problem::{HttpResult, Problem};
use crate::web::query;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use serde_json::json;
use tintype_api::Fields;
use tintype_storage::domain::time::Timestamp;

/// Fits a delivery with the largest metadata with every character escaped.
const MAX_BYTES: usize = 256 << 10;

/// `POST /webhooks/{webhook_id}/verify`: verifies a received delivery.
pub async fn verify(
    of: OfWebhook,
    request: HttpRequest,
    payload: Payload,
    settings: Data<Settings>,
    webhooks: Data<WebhookService>,
) -> HttpResult {
    let body = body::read_json_within(MAX_BYTES, &request, payload, &settings).await?;
    let mut fields = Fields::parse(&body).map_err(Problem::validation)?;
    let text = fields.required_string("delivery");
    fields.finish(&["delivery"]).map_err(Problem::validation)?;
    let text = text.unwrap_or_default();
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

/// `GET /webhooks/{webhook_id}/redeliver?from=&to=`: counts the failed deliveries in a range; `all` is false if there are more than
/// one call reads.
pub async fn count_failed(of: OfWebhook, request: HttpRequest, core: Data<Core>) -> HttpResult {
    let moment = |name: &str| query::parsed(&request, name, query::moment);
    let range = deliveries::Range {
        from: moment("from")?.unwrap_or(Timestamp::EPOCH),
        to: moment("to")?.unwrap_or(Timestamp::from_millis(i64::MAX)),
        after: None,
    };
    let (count, all) = deliveries::count_failed(&core, of.webhook, range).await?;
    Ok(HttpResponse::Ok().json(json!({"failed": count, "all": all})))
}
