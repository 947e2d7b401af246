//! The port of a delivery: one POST of it.

use futures_util::future::LocalBoxFuture;
use tintype_storage::domain::delivery::{Attempt, Delivery};
use tintype_storage::domain::webhook::Webhook;

/// Makes one attempt of a delivery. Its future runs on the arbiter of the deliveries.
pub trait Transport: Send + Sync {
    /// Builds the body, signs it, posts it, and reports what came of it. Never fails: a fault is what the attempt records.
    fn attempt(&self, delivery: Delivery, webhook: Webhook) -> LocalBoxFuture<'static, Attempt>;
}
