//! What a round announces once it is durable, beside the replies to its callers.

use super::AccountContext;
use super::command::AccountCommand;
use crate::delivery::DeliveryCommand;
use crate::queue::{QueueChange, QueuedJob};
use crate::stats::DecidedCounts;
use tintype_storage::domain::delivery::Delivery;
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::job::Job;

#[derive(Default)]
pub struct Announcements {
    pub queued: Vec<QueuedJob>,
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
    pub fn publish(self, commands: Vec<AccountCommand>, context: &AccountContext) {
        // Queues and counts first: a caller that reads them as soon as it has its reply finds its job there.
        if let Some(queue) = &context.shared_queue {
            queue.apply(self.queue_changes, context.queues.turns());
        }
        let must_wake_dispatcher = match &context.process.node {
            None => context.queues.push_all(self.queued),
            Some(node) => {
                if !self.queued.is_empty() {
                    node.take.notify_one();
                }
                false
            }
        };
        context.process.stats.jobs.add(&self.counts);
        commands.into_iter().for_each(|it| it.reply(Ok(())));
        if let Some(observer) = &context.process.observer {
            self.ended.iter().for_each(|job| observer.job_ended(job));
        }
        for job in self.changed {
            context.job_changes.notify(job);
        }
        if must_wake_dispatcher {
            context.queues.wake();
        }
        if !self.deliveries.is_empty() {
            let queued = DeliveryCommand::Queued(self.deliveries);
            context.deliveries.do_send(queued);
        }
    }
}
