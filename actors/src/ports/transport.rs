//! The port of a webhook transport, which makes the attempts of deliveries.

use futures_util::future::LocalBoxFuture;
use tintype_storage::domain::delivery::{Attempt, Delivery};
use tintype_storage::domain::webhook::Webhook;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// The receiver answered or failed.
    Made(Attempt),
    /// The service itself failed, for this reason. Does not count against the receiver.
    NotSent(String),
}

pub trait Transport: Send + Sync {
    /// Builds, signs and posts the body. The future runs on the arbiter of the deliveries.
    fn attempt(
        &self,
        delivery: Delivery,
        webhook: Webhook,
    ) -> LocalBoxFuture<'static, AttemptOutcome>;
}
