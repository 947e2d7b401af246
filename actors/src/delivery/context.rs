//! What the delivery actor works with.

use super::scheduler::DeliveryLimits;
use crate::clock::Clock;
use crate::fail_stop::FailStop;
use crate::node::NodeContext;
use crate::ports::{Observer, Transport};
use crate::stats::Stats;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::ids::IdSource;
use tintype_storage::domain::webhook::Webhook;
use tintype_storage::store::Store;

/// What the delivery actor works with.
pub struct DeliveryContext {
    pub store: Store,
    pub clock: Clock,
    /// The delay before each retry.
    pub retry_delays: Vec<Duration>,
    pub limits: DeliveryLimits,
    pub transport: Arc<dyn Transport>,
    /// Receives the events for the operator.
    pub operator: Option<Arc<Webhook>>,
    pub ids: Arc<IdSource>,
    pub stats: Arc<Stats>,
    pub observer: Option<Arc<dyn Observer>>,
    pub fail_stop: FailStop,
    /// `None` where this process is the only one on the store.
    pub node: Option<Arc<NodeContext>>,
}
