//! The dependencies of all account actors.

use crate::delivery::DeliveryCommand;
use crate::job_changes::JobChanges;
use crate::process_context::ProcessContext;
use crate::queue::{Expiries, JobQueues, SharedQueue};
use actix::Recipient;
use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use tintype_storage::domain::pause::Pause;
use tintype_storage::store::Limits;

pub struct AccountContext {
    pub process: Arc<ProcessContext>,
    pub limits: Limits,
    /// The paused models, in the order of commits. A change is submitted under the lock that a decision holds until its own commit
    /// is submitted, so no job is accepted after a pause that its decision did not see.
    pub deciding_pause: RwLock<Pause>,
    /// Most runs of a job.
    pub max_runs: u32,
    /// Jobs of all accounts that are not terminal.
    pub live_jobs: AtomicUsize,
    pub queues: Arc<JobQueues>,
    /// `None` on a single node.
    pub shared_queue: Option<Arc<SharedQueue>>,
    pub expiries: Expiries,
    pub deliveries: Recipient<DeliveryCommand>,
    pub job_changes: Arc<JobChanges>,
}

impl AccountContext {
    /// Publishes a durable change of the paused models, and wakes the dispatcher, because jobs of a resumed model may begin.
    pub fn publish_pause(&self, pause: Pause) {
        *self.process.durable_pause.write() = pause;
        self.queues.wake();
    }
}
