//! The dependencies of all account actors.

use crate::delivery::DeliveryCommand;
use crate::job_changes::JobChanges;
use crate::process_context::ProcessContext;
use crate::queue::{JobQueue, LocalQueue};
use actix::Recipient;
use parking_lot::RwLock;
use std::sync::Arc;
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
