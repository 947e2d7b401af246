//! Wakes the callers that wait for a job to change, once the change is durable.
//!
//! A wake-up is a hint to read the store. It runs on the engine's thread and costs one lookup in a hash table if no caller waits; ten
//! thousand waiting callers cost only memory. A caller also reads the store on a coarse timer, so a lost hint costs only delay.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use tintype_storage::domain::ids::JobId;
use tokio::sync::Notify;

/// Several tables, so that commits and arriving callers rarely wait for the same lock.
const SHARDS: usize = 16;

type Table = HashMap<JobId, Vec<Arc<Notify>>>;

/// The waiting callers by job.
pub struct JobChanges {
    shards: [Mutex<Table>; SHARDS],
}

impl Default for JobChanges {
    fn default() -> Self {
        Self {
            shards: std::array::from_fn(|_| Mutex::default()),
        }
    }
}

impl JobChanges {
    /// Begins to watch a job. [`JobWatch::changed`] reports every change from now on, including one that happens before its call.
    pub fn watch(self: &Arc<Self>, job: JobId) -> JobWatch {
        let hint = Arc::new(Notify::new());
        let mut table = self.shard(job).lock();
        table.entry(job).or_default().push(Arc::clone(&hint));
        JobWatch {
            changes: Arc::clone(self),
            job,
            hint,
        }
    }

    /// Wakes the watchers of a job, whose change is durable.
    pub fn notify(&self, job: JobId) {
        if let Some(hints) = self.shard(job).lock().get(&job) {
            // `notify_one` stores the wake-up for a watcher that does not wait right now.
            hints.iter().for_each(|hint| hint.notify_one());
        }
    }

    pub fn watchers(&self, job: JobId) -> usize {
        self.shard(job).lock().get(&job).map_or(0, Vec::len)
    }

    /// The number of watchers of all jobs.
    pub fn count(&self) -> usize {
        let of = |shard: &Mutex<Table>| shard.lock().values().map(Vec::len).sum::<usize>();
        self.shards.iter().map(of).sum()
    }

    fn shard(&self, job: JobId) -> &Mutex<Table> {
        // The last bits of an id are random.
        &self.shards[job.0.as_bytes()[15] as usize % SHARDS]
    }
}

/// One caller's watch over a job, until it is dropped.
pub struct JobWatch {
    changes: Arc<JobChanges>,
    job: JobId,
    hint: Arc<Notify>,
}

impl JobWatch {
    /// Waits until the job has changed since the watch began, or since the last call.
    pub async fn changed(&self) {
        self.hint.notified().await;
    }
}

impl Drop for JobWatch {
    fn drop(&mut self) {
        let mut table = self.changes.shard(self.job).lock();
        let Some(hints) = table.get_mut(&self.job) else {
            return;
        };
        hints.retain(|hint| !Arc::ptr_eq(hint, &self.hint));
        if hints.is_empty() {
            table.remove(&self.job);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;
    use uuid::Uuid;

    fn job(number: u128) -> JobId {
        JobId(Uuid::from_u128(number))
    }

    #[tokio::test]
    async fn a_change_wakes_all_watchers_of_its_job_and_no_others() {
        let changes = Arc::new(JobChanges::default());
        // The same shard, another job.
        let (first, second, other) = (
            changes.watch(job(1)),
            changes.watch(job(1)),
            changes.watch(job(17)),
        );
        changes.notify(job(1));
        first.changed().await;
        second.changed().await;
        assert!(other.changed().now_or_never().is_none());
        assert!(first.changed().now_or_never().is_none(), "one change, once");
    }

    #[test]
    fn a_dropped_watch_leaves_no_entry() {
        let changes = Arc::new(JobChanges::default());
        let (first, second) = (changes.watch(job(1)), changes.watch(job(1)));
        assert_eq!(changes.count(), 2);
        assert_eq!(
            (changes.watchers(job(1)), changes.watchers(job(17))),
            (2, 0)
        );
        drop(first);
        assert_eq!(changes.count(), 1);
        drop(second);
        assert_eq!(changes.count(), 0);
        assert!(changes.shard(job(1)).lock().is_empty());
        changes.notify(job(1));
    }

    #[tokio::test]
    async fn ten_thousand_changes_wake_ten_thousand_watchers() {
        let changes = Arc::new(JobChanges::default());
        let watches: Vec<JobWatch> = (0..10_000).map(|at| changes.watch(job(at))).collect();
        let waiting = tokio::spawn(async move {
            for watch in &watches {
                watch.changed().await;
            }
        });
        (0..10_000).for_each(|at| changes.notify(job(at)));
        waiting.await.expect("all were woken");
        assert_eq!(changes.count(), 0);
    }
}
