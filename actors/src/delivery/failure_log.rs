//! Logs deliveries that have failed for good: the operator events, which no other event reports, because it would go to the same
//! receiver, and the deliveries of customers that have used all attempts.

use super::context::DeliveryContext;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::delivery::{
    Attempt, Delivery, DeliveryKind, DeliveryState, FailReason,
};
use tintype_storage::domain::ids::AccountId;
use tintype_storage::store::tables::OPERATOR_EVENTS;
use tokio::task::spawn_local;
use tokio::time::Instant;

/// Between two lines about deliveries of the same account. The failure of one receiver may end thousands of them.
const INTERVAL: Duration = Duration::from_secs(60);
/// Accounts that have their own interval. When more fail at once, all of them are forgotten.
const MAX_ACCOUNTS: usize = 10_000;

#[derive(Default)]
pub(super) struct FailureLog {
    /// Of accounts whose deliveries have failed.
    lines: HashMap<AccountId, LastLine>,
}

struct LastLine {
    at: Instant,
    /// Deliveries that have failed since, and have no line.
    suppressed: u64,
}

impl FailureLog {
    /// Logs a changed delivery if it has failed for good.
    pub fn log(&mut self, context: &Arc<DeliveryContext>, delivery: &Delivery) {
        let DeliveryState::Failed { .. } = delivery.state else {
            return;
        };
        let context = Arc::clone(context);
        if delivery.kind == DeliveryKind::Operator {
            spawn_local(log_event(context, delivery.clone()));
        } else if delivery.state.reason() == Some(FailReason::AttemptsExhausted)
            && let Some(suppressed) = self.admit(delivery.account, Instant::now())
        {
            spawn_local(log_exhausted(context, delivery.clone(), suppressed));
        }
    }

    /// Admits one line per account and interval, with the number of lines suppressed since the one before.
    fn admit(&mut self, account: AccountId, now: Instant) -> Option<u64> {
        let suppressed = match self.lines.get_mut(&account) {
            Some(last) if now.saturating_duration_since(last.at) < INTERVAL => {
                last.suppressed += 1;
                return None;
            }
            Some(last) => last.suppressed,
            None => 0,
        };
        if self.lines.len() >= MAX_ACCOUNTS {
            self.lines.clear();
        }
        let line = LastLine {
            at: now,
            suppressed: 0,
        };
        self.lines.insert(account, line);
        Some(suppressed)
    }
}

/// Logs a failed operator event. A record that cannot be read leaves a part of the line empty.
async fn log_event(context: Arc<DeliveryContext>, delivery: Delivery) {
    let event = OPERATOR_EVENTS.get(&context.process.store, &delivery.id);
    let event = event.await.ok().flatten();
    let event = event.as_ref().map_or("unknown", |it| it.subject.as_str());
    let last_error = last_error(&context, &delivery).await;
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

/// Logs a customer's delivery that has used all attempts.
async fn log_exhausted(context: Arc<DeliveryContext>, delivery: Delivery, suppressed: u64) {
    let last_error = last_error(&context, &delivery).await;
    tracing::warn!(
        delivery = %delivery.id,
        account = %delivery.account,
        webhook = %delivery.webhook,
        receiver = origin(&delivery.url),
        attempts = delivery.attempts,
        last_error = last_error.as_deref(),
        suppressed = (suppressed > 0).then_some(suppressed),
        "a delivery has used all attempts; once its receiver works, resend it with `tintype delivery redeliver {}`",
        delivery.id
    );
}

/// The error of the last attempt; `None` if it cannot be read.
async fn last_error(context: &DeliveryContext, delivery: &Delivery) -> Option<String> {
    let attempts = context.process.store.attempts(delivery.id).await;
    let last = attempts.ok().and_then(|mut it| it.pop());
    last.as_ref().map(describe)
}

fn describe(attempt: &Attempt) -> String {
    match (&attempt.error, attempt.status_code) {
        (Some(error), _) => error.clone(),
        (None, Some(status)) => format!("status {status}"),
        (None, None) => "no response".to_owned(),
    }
}

/// The scheme, host and port of a URL. Path and query often contain a secret of the receiver; URLs with a user name or password are
/// rejected.
fn origin(url: &str) -> &str {
    let host = url.find("://").map_or(0, |at| at + 3);
    let end = url[host..].find(['/', '?', '#', '\\']);
    end.map_or(url, |at| &url[..host + at])
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn one_line_per_account_and_interval_has_the_number_of_those_before_it() {
        let (mut log, start) = (FailureLog::default(), Instant::now());
        let [one, other] = [1, 2].map(|it| AccountId(Uuid::from_u128(it)));
        let mut lines = |account, seconds| log.admit(account, start + Duration::from_secs(seconds));
        let admitted = [0, 1, 59, 60, 61, 300, 360].map(|it| lines(one, it));
        assert_eq!(
            admitted,
            [Some(0), None, None, Some(2), None, Some(1), Some(0)]
        );
        assert_eq!([lines(other, 361), lines(one, 361)], [Some(0), None]);
    }

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
