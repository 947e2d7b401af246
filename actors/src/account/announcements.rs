//! What a round announces once it is durable, beside the replies to its callers.

use super::command::AccountCommand;
use super::shared_state::AccountSharedState;
use crate::delivery::DeliveryCommand;
use crate::queue::{QueueChange, QueuedJob};
use crate::stats::DecidedCounts;
use tintype_storage::domain::delivery::Delivery;
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::job::Job;
use tintype_storage::domain::tier::Tier;

#[derive(Default)]
pub struct Announcements {
    pub queued: Vec<QueuedJob>,
    /// Jobs that ended without a run.
    pub left_queue: Vec<(Tier, JobId)>,
    pub changed: Vec<JobId>,
    /// Ended jobs, if there is an observer.
    pub ended: Vec<Job>,
    pub deliveries: Vec<Delivery>,
    /// Changes of the shared queue.
    pub queue_changes: Vec<QueueChange>,
    pub counts: DecidedCounts,
}

impl Announcements {
    /// Replies to the callers and tells everything else that waits for these changes.
    pub fn publish(self, commands: Vec<AccountCommand>, account: &AccountSharedState) {
        let AccountSharedState { id, context, .. } = account;
        // Queues and counts first: a caller that reads them as soon as it has its reply finds its job there.
        context.queue.apply(self.queue_changes);
        let must_wake_dispatcher = context.queue.add(self.queued);
        for (tier, job) in self.left_queue {
            context.local_queue.remove(tier, *id, job);
        }
        context.process.stats.jobs.add(&self.counts);
        commands.into_iter().for_each(|it| it.reply(Ok(())));
        if let Some(observer) = &context.process.observer {
            self.ended.iter().for_each(|job| observer.job_ended(job));
        }
        for job in self.changed {
            context.job_changes.notify(job);
        }
        if must_wake_dispatcher {
            context.local_queue.wake();
        }
        if !self.deliveries.is_empty() {
            let queued = DeliveryCommand::Queued(self.deliveries);
            context.deliveries.do_send(queued);
        }
    }
}
