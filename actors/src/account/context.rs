//! The dependencies that all account actors share.

use crate::clock::Clock;
use crate::delivery::DeliveryCommand;
use crate::fail_stop::FailStop;
use crate::job_changes::JobChanges;
use crate::node::NodeContext;
use crate::ports::Observer;
use crate::queue::{Expiries, JobQueues, SharedQueue};
use crate::stats::Stats;
use actix::Recipient;
use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use tintype_storage::domain::ids::IdSource;
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::webhook::Webhook;
use tintype_storage::store::{Limits, Store};

pub struct AccountContext {
    pub store: Store,
    pub clock: Clock,
    pub ids: Arc<IdSource>,
    pub limits: Limits,
    /// The paused models, in the order of commits. A change is submitted under the lock that a decision holds until its own commit
    /// is submitted, so no job is accepted after a pause that its decision did not see.
    pub pause: RwLock<Pause>,
    /// Most runs of a job.
    pub max_runs: u32,
    /// Jobs of all accounts that are not terminal.
    pub live_jobs: AtomicUsize,
    pub queues: Arc<JobQueues>,
    /// `None` on a single node.
    pub shared_queue: Option<Arc<SharedQueue>>,
    pub expiries: Expiries,
    pub deliveries: Recipient<DeliveryCommand>,
    /// Receives operator events.
    pub operator: Option<Arc<Webhook>>,
    pub job_changes: Arc<JobChanges>,
    pub stats: Arc<Stats>,
    pub observer: Option<Arc<dyn Observer>>,
    pub fail_stop: FailStop,
    /// `None` on a single node: no other process uses the store.
    pub node: Option<Arc<NodeContext>>,
}
