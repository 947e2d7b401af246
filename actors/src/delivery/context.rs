//! The dependencies of the delivery actor.

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

pub struct DeliveryContext {
    pub store: Store,
    pub clock: Clock,
    /// The delay before each retry.
    pub retry_delays: Vec<Duration>,
    pub limits: DeliveryLimits,
    pub transport: Arc<dyn Transport>,
    /// Receives operator events.
    pub operator: Option<Arc<Webhook>>,
    pub ids: Arc<IdSource>,
    pub stats: Arc<Stats>,
    pub observer: Option<Arc<dyn Observer>>,
    pub fail_stop: FailStop,
    /// `None` on a single node.
    pub node: Option<Arc<NodeContext>>,
}
