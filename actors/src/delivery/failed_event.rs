//! Logs the operator events that the operator does not receive: no other event reports them, because it would go to the same
//! receiver.

use super::context::DeliveryContext;
use std::sync::Arc;
use tintype_storage::domain::delivery::{Attempt, Delivery, DeliveryKind, DeliveryState};
use tintype_storage::store::tables::OPERATOR_EVENTS;

/// Has an operator event failed for good?
pub(super) fn is_failed_event(delivery: &Delivery) -> bool {
    delivery.kind == DeliveryKind::Operator
        && matches!(delivery.state, DeliveryState::Failed { .. })
}

/// Logs a failed operator event. A record that cannot be read leaves a part of the line empty.
pub(super) async fn log(context: Arc<DeliveryContext>, delivery: Delivery) {
    let event = OPERATOR_EVENTS.get(&context.process.store, &delivery.id);
    let event = event.await.ok().flatten();
    let event = event.as_ref().map_or("unknown", |it| it.subject.as_str());
    let attempts = context.process.store.attempts(delivery.id).await;
    let last = attempts.ok().and_then(|mut it| it.pop());
    let last_error = last.as_ref().map(describe);
    let reason = delivery.state.reason().map_or("", |it| it.as_str());
    tracing::warn!(
        event,
        delivery = %delivery.id,
        receiver = origin(&delivery.url),
        attempts = delivery.attempts,
        reason,
        last_error = last_error.as_deref(),
        "an operator event was not delivered; check webhook_url in [operator] and its receiver, then resend the event with \
         `tintype delivery redeliver {}`",
        delivery.id
    );
}

fn describe(attempt: &Attempt) -> String {
    match (&attempt.error, attempt.status_code) {
        (Some(error), _) => error.clone(),
        (None, Some(status)) => format!("status {status}"),
        (None, None) => "no response".to_owned(),
    }
}

/// The scheme, host and port of a URL. Path and query often contain a secret of the receiver; the configuration rejects URLs with a user
/// name or password.
fn origin(url: &str) -> &str {
    let host = url.find("://").map_or(0, |at| at + 3);
    let end = url[host..].find(['/', '?', '#', '\\']);
    end.map_or(url, |at| &url[..host + at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_origin_of_a_url_has_no_path_and_no_query() {
        for (url, expected) in [
            ("https://hooks.example/T0/secret", "https://hooks.example"),
            ("http://[::1]:9000?token=secret", "http://[::1]:9000"),
            ("http://ops.example#x", "http://ops.example"),
            ("http://ops.example", "http://ops.example"),
        ] {
            assert_eq!(origin(url), expected);
        }
    }
}
