//! The dependencies that all actors of a process share.

use crate::clock::Clock;
use crate::fail_stop::FailStop;
use crate::node::NodeContext;
use crate::ports::Observer;
use crate::stats::Stats;
use parking_lot::{RwLock, RwLockReadGuard};
use std::sync::Arc;
use tintype_storage::domain::backend_pauses::BackendPauses;
use tintype_storage::domain::ids::IdSource;
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::Webhook;
use tintype_storage::store::Store;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

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
    /// In the same way.
    pub durable_backend_pauses: Arc<DurableBackendPauses>,
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

/// The paused backends, which get no new attempt.
#[derive(Default)]
pub struct DurableBackendPauses {
    current: RwLock<BackendPauses>,
    /// Wakes runs in the order in which they wait. A `watch` channel wakes them in any order, which would make simulations
    /// unrepeatable.
    changed: Notify,
}

impl DurableBackendPauses {
    pub fn new(current: BackendPauses) -> Self {
        Self {
            current: RwLock::new(current),
            changed: Notify::new(),
        }
    }

    pub fn read(&self) -> RwLockReadGuard<'_, BackendPauses> {
        self.current.read()
    }

    pub fn publish(&self, pauses: BackendPauses) {
        *self.current.write() = pauses;
        self.changed.notify_waiters();
    }

    /// Waits for the next change after this call.
    pub fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }
}
