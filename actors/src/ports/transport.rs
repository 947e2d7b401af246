//! The port of a webhook transport, which makes the attempts of deliveries.

use futures_util::future::LocalBoxFuture;
use tintype_storage::domain::delivery::{Attempt, Delivery};
use tintype_storage::domain::webhook::Webhook;

/// What came of one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// The attempt was made. It records the receiver's fault, if there was one.
    Made(Attempt),
    /// The attempt was not made, for this reason on the service's own side. It does not count against the receiver.
    NotSent(String),
}

/// Makes one attempt of a delivery. Its future runs on the arbiter of the deliveries.
pub trait Transport: Send + Sync {
    /// Builds the body, signs it, posts it, and reports the outcome.
    fn attempt(
        &self,
        delivery: Delivery,
        webhook: Webhook,
    ) -> LocalBoxFuture<'static, AttemptOutcome>;
}
