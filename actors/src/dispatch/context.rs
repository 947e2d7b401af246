//! The dependencies that the dispatcher and all job actors share.

use super::cut_off::CutOff;
use super::failures::RecentFailures;
use super::progress::RunProgress;
use crate::account::{AccountHandle, AccountRegistry};
use crate::backends::BackendPool;
use crate::clock::Jitter;
use crate::ports::{InputFetcher, JobObjects};
use crate::process_context::ProcessContext;
use crate::queue::{JobQueue, LocalQueue};
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::ids::AccountId;
use tokio::time::Instant;

pub struct DispatchContext {
    pub process: Arc<ProcessContext>,
    /// Maximum number of runs of a job.
    pub max_runs: u32,
    /// The longest time of one run over all attempts and backends, not counting waits for slots.
    pub run_timeout: Duration,
    pub queue: Arc<dyn JobQueue>,
    pub local_queue: Arc<LocalQueue>,
    pub pool: BackendPool,
    pub accounts: Arc<AccountRegistry>,
    pub job_objects: Arc<dyn JobObjects>,
    pub input_fetcher: Arc<dyn InputFetcher>,
    pub progress: RunProgress,
    pub failures: RecentFailures,
    pub jitter: Jitter,
    pub cut_off: CutOff,
}

impl DispatchContext {
    /// The actor of a job's account. A failed read stops the service.
    pub async fn account(&self, id: AccountId) -> Option<AccountHandle> {
        match self.accounts.get_or_start(id).await {
            Ok(handle) => handle,
            Err(error) => {
                self.process.fail_stop.trip(error.to_string());
                None
            }
        }
    }

    /// Lets a job of another account, if one may begin, probe a backend that only one account's requests may have brought down.
    pub fn end_cool_downs_for_others(&self, now: Instant) {
        let pause = self.process.durable_pause.read();
        let has_other = |tier, account| self.queue.has_other(tier, account, &pause);
        self.pool.end_cool_downs_for_others(now, has_other);
    }

    /// Is the process about to end after a failure? The log has the reason, so later errors are not worth a line each.
    pub fn has_failed(&self) -> bool {
        self.process.fail_stop.has_tripped()
    }
}
