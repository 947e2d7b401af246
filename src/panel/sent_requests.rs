//! The recorded request of each delivery attempt: headers, and the body up to a stored length.

use crate::application::core::Core;
use crate::web::access::OfDelivery;
use crate::web::problem::HttpResult;
use actix_web::{HttpResponse, web};
use serde_json::{Value, json};
use tintype_storage::domain::delivery::{Attempt, DeliveryId};

/// `GET /deliveries/{delivery_id}/sent`.
pub async fn list(of: OfDelivery, core: web::Data<Core>) -> HttpResult {
    let id = of.delivery.id;
    let attempts = core.store.attempts(id).await?;
    let data: Vec<Value> = attempts.iter().map(|it| view(id, it)).collect();
    Ok(HttpResponse::Ok().json(json!({"data": data})))
}

/// `null` if the attempt sent no request, or ran before requests were recorded.
fn view(id: DeliveryId, attempt: &Attempt) -> Value {
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
