//! Who waits for news of a job: woken once a commit that changed it is on the disk.
//!
//! A wake-up is a hint to look at the store, and is sent from the thread that has just heard of the commit. It costs one look
//! into a table when nobody waits, and nobody is ever asked whether something has changed: ten thousand waiting callers cost
//! memory alone. Whoever waits looks again on a coarse timer besides, so that a lost hint costs delay and nothing else.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use tintype_storage::domain::ids::JobId;
use tokio::sync::Notify;

/// Tables side by side, so that commits of many accounts and arriving callers seldom meet at one lock.
const SHARDS: usize = 16;

type Table = HashMap<JobId, Vec<Arc<Notify>>>;

/// The callers that wait, by job.
pub struct Watchers {
    shards: [Mutex<Table>; SHARDS],
}

impl Default for Watchers {
    fn default() -> Self {
        Self {
            shards: std::array::from_fn(|_| Mutex::default()),
        }
    }
}

impl Watchers {
    /// Begins to watch a job. What changes from now on is noticed, also before [`Watch::changed`] is called.
    pub fn watch(self: &Arc<Self>, job: JobId) -> Watch {
        let hint = Arc::new(Notify::new());
        let mut table = self.shard(job).lock();
        table.entry(job).or_default().push(Arc::clone(&hint));
        Watch {
            watchers: Arc::clone(self),
            job,
            hint,
        }
    }

    /// Wakes whoever watches this job. To be called once the change is on the disk.
    pub fn changed(&self, job: JobId) {
        if let Some(hints) = self.shard(job).lock().get(&job) {
            // Kept for the one that is not waiting at this moment: it finds the wake-up when it comes.
            hints.iter().for_each(|hint| hint.notify_one());
        }
    }

    /// How many watch this job.
    pub fn of(&self, job: JobId) -> usize {
        self.shard(job).lock().get(&job).map_or(0, Vec::len)
    }

    /// How many wait.
    pub fn count(&self) -> usize {
        let of = |shard: &Mutex<Table>| shard.lock().values().map(Vec::len).sum::<usize>();
        self.shards.iter().map(of).sum()
    }

    fn shard(&self, job: JobId) -> &Mutex<Table> {
        // The last bits of an id are random.
        &self.shards[job.0.as_bytes()[15] as usize % SHARDS]
    }
}

/// One caller's watch over a job. It ends when it is dropped.
pub struct Watch {
    watchers: Arc<Watchers>,
    job: JobId,
    hint: Arc<Notify>,
}

impl Watch {
    /// Waits until the job has changed since the watch began, or since the last time.
    pub async fn changed(&self) {
        self.hint.notified().await;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut table = self.watchers.shard(self.job).lock();
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
    async fn all_that_watch_a_job_are_woken_and_nobody_else() {
        let watchers = Arc::new(Watchers::default());
        // The same shard, another job.
        let (first, second, other) = (
            watchers.watch(job(1)),
            watchers.watch(job(1)),
            watchers.watch(job(17)),
        );
        watchers.changed(job(1));
        first.changed().await;
        second.changed().await;
        assert!(other.changed().now_or_never().is_none());
        assert!(first.changed().now_or_never().is_none(), "one change, once");
    }

    #[test]
    fn a_watch_that_ends_leaves_nothing_behind() {
        let watchers = Arc::new(Watchers::default());
        let (first, second) = (watchers.watch(job(1)), watchers.watch(job(1)));
        assert_eq!(watchers.count(), 2);
        assert_eq!((watchers.of(job(1)), watchers.of(job(17))), (2, 0));
        drop(first);
        assert_eq!(watchers.count(), 1);
        drop(second);
        assert_eq!(watchers.count(), 0);
        assert!(watchers.shard(job(1)).lock().is_empty());
        watchers.changed(job(1));
    }

    #[tokio::test]
    async fn ten_thousand_are_woken_by_as_many_changes() {
        let watchers = Arc::new(Watchers::default());
        let watches: Vec<Watch> = (0..10_000).map(|at| watchers.watch(job(at))).collect();
        let waiting = tokio::spawn(async move {
            for watch in &watches {
                watch.changed().await;
            }
        });
        (0..10_000).for_each(|at| watchers.changed(job(at)));
        waiting.await.expect("all were woken");
        assert_eq!(watchers.count(), 0);
    }
}
