//! The dependencies of all account actors.

use crate::delivery::DeliveryCommand;
use crate::job_changes::JobChanges;
use crate::process_context::ProcessContext;
use crate::queue::{JobQueue, LocalQueue};
use actix::Recipient;
use parking_lot::RwLock;
use std::sync::Arc;
use tintype_storage::domain::backend_pauses::BackendPauses;
use tintype_storage::domain::pause::Pause;
use tintype_storage::store::Limits;

pub struct AccountContext {
    pub process: Arc<ProcessContext>,
    pub limits: Limits,
    /// The paused models as of the last submitted commit. A decision holds the read lock until its commit is submitted, and a pause is
    /// submitted under the write lock. So no job is accepted after a pause that its decision did not see.
    pub submitted_pause: RwLock<Pause>,
    pub queue: Arc<dyn JobQueue>,
    /// The jobs that wait in this process. With a single process, `queue` is the same.
    pub local_queue: Arc<LocalQueue>,
    pub deliveries: Recipient<DeliveryCommand>,
    pub job_changes: Arc<JobChanges>,
}

impl AccountContext {
    /// Publishes a durable change of the paused models, and wakes the dispatcher, because jobs of a resumed model may begin.
    pub fn publish_pause(&self, pause: Pause) {
        *self.process.durable_pause.write() = pause;
        self.local_queue.wake();
    }

    /// Publishes a durable change of the paused backends, and wakes the dispatcher.
    pub fn publish_backend_pauses(&self, pauses: BackendPauses) {
        self.process.durable_backend_pauses.publish(pauses);
        self.local_queue.wake();
    }
}
