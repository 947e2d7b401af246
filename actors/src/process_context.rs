//! The dependencies that all actors of a process share.

use crate::clock::Clock;
use crate::fail_stop::FailStop;
use crate::node::NodeContext;
use crate::ports::Observer;
use crate::stats::Stats;
use parking_lot::RwLock;
use std::sync::Arc;
use tintype_storage::domain::backend_pauses::BackendPauses;
use tintype_storage::domain::ids::IdSource;
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::Webhook;
use tintype_storage::store::Store;

pub struct ProcessContext {
    /// Its failed commits trip the fail-stop.
    pub store: Store,
    pub clock: Clock,
    pub ids: Arc<IdSource>,
    /// Receives operator events.
    pub operator: Option<Arc<Webhook>>,
    pub stats: Arc<Stats>,
    /// The paused models, once their change is durable: no job of them begins. Several nodes poll the changes of the others.
    pub durable_pause: Arc<RwLock<Pause>>,
    /// The paused backends, in the same way: they get no new attempt.
    pub durable_backend_pauses: Arc<RwLock<BackendPauses>>,
    pub observer: Option<Arc<dyn Observer>>,
    pub fail_stop: FailStop,
    /// `None` on a single node: no other process uses the store.
    pub node: Option<Arc<NodeContext>>,
}

impl ProcessContext {
    pub fn now(&self) -> Timestamp {
        (self.clock)()
    }
}
