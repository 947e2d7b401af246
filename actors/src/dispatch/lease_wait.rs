//! The wait of a run for a lease on a backend.

use super::context::DispatchContext;
use super::run_deadline::RunDeadline;
use crate::backends::{BackendLease, LeaseKind};
use std::future::pending;
use std::pin::pin;
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::tier::Tier;

/// A run's request for a lease on one of the tier's backends.
pub struct LeaseWait {
    pub account: AccountId,
    pub tier: Tier,
    pub kind: LeaseKind,
    /// Does the wait count as work of the run? Otherwise other jobs cause it. The time during which all backends of the tier are paused
    /// counts as a pause in both cases.
    pub counts_as_work: bool,
}

/// Why a run got no lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoLease {
    /// The deadline has passed.
    TimedOut,
    /// An orderly stop has begun while all backends of the tier are paused. The job goes on after the restart.
    Stopping,
}

impl LeaseWait {
    pub async fn until(
        self,
        deadline: &mut RunDeadline,
        context: &DispatchContext,
    ) -> Result<BackendLease, NoLease> {
        let (pool, tier) = (&context.pool, self.tier);
        let lease = pool.request_lease(self.account, tier, self.kind);
        let mut lease = pin!(async move {
            match lease.await {
                Ok(lease) => lease,
                // The dispatcher has stopped with the process. The job runs again after the restart.
                Err(_) => pending().await,
            }
        });
        loop {
            let changed = pool.pauses_changed();
            let is_paused = pool.has_only_paused_backends(tier);
            let outcome = async {
                tokio::select! {
                    biased;
                    lease = &mut lease => Some(Ok(lease)),
                    () = changed => None,
                    () = context.cut_off.stopping(), if is_paused => Some(Err(NoLease::Stopping)),
                }
            };
            let outcome = match (is_paused, self.counts_as_work) {
                (true, _) => deadline.pause(outcome).await.ok_or(NoLease::TimedOut)?,
                (false, true) => deadline.work(outcome).await.ok_or(NoLease::TimedOut)?,
                (false, false) => outcome.await,
            };
            if let Some(outcome) = outcome {
                return outcome;
            }
        }
    }
}
