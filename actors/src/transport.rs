//! The port of a delivery: one POST of it.

use futures_util::future::LocalBoxFuture;
use tintype_storage::domain::delivery::{Attempt, Delivery};
use tintype_storage::domain::webhook::Webhook;

/// What became of the wish to make an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// It was made. A fault of the receiver is what it records.
    Made(Attempt),
    /// It was not: something of our own is missing, for this reason. The receiver has nothing to do with it, and loses none of
    /// its attempts.
    NotSent(String),
}

/// Makes one attempt of a delivery. Its future runs on the arbiter of the deliveries.
pub trait Transport: Send + Sync {
    /// Builds the body, signs it, posts it, and reports what came of it.
    fn attempt(
        &self,
        delivery: Delivery,
        webhook: Webhook,
    ) -> LocalBoxFuture<'static, AttemptOutcome>;
}
