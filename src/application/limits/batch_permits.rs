//! Limits how many batches are parsed, decided and written at a time, so that single calls do not queue behind them. A batch also
//! waits before its write until the store has caught up with earlier ones.

use std::thread::available_parallelism;
use std::time::Duration;
use tintype_fair_semaphore::{FairSemaphore, Permit};
use tintype_storage::domain::ids::AccountId;
use tintype_storage::store::Store;
use tokio::time::timeout;

/// A batch is written after this time even if the store has not caught up.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// Fair between accounts. One account holds at most half of the permits.
pub struct BatchPermits(FairSemaphore<AccountId>);

pub type BatchPermit = Permit<AccountId>;

impl Default for BatchPermits {
    /// One permit per processor: more would not be faster.
    fn default() -> Self {
        Self::new(available_parallelism().map_or(1, usize::from) as u64)
    }
}

impl BatchPermits {
    fn new(permits: u64) -> Self {
        Self(FairSemaphore::new(permits, permits.div_ceil(2)))
    }

    pub async fn acquire(&self, account: AccountId) -> BatchPermit {
        self.0.acquire(account, 1).await
    }

    /// Also waits until the store has room for a batch beside single jobs.
    pub async fn acquire_to_write(&self, account: AccountId, store: &Store) -> BatchPermit {
        let permit = self.acquire(account).await;
        // A failed store reports its error at the commit.
        drop(timeout(MAX_WAIT, store.engine().room_for_bulk()).await);
        permit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;
    use uuid::Uuid;

    #[test]
    fn an_account_with_many_batches_leaves_permits_to_others() {
        let [one, other] = [1, 2].map(|it| AccountId(Uuid::from_u128(it)));
        let permits = BatchPermits::new(2);
        let first = permits
            .acquire(one)
            .now_or_never()
            .expect("the first permit");
        let mut second = Box::pin(permits.acquire(one));
        assert!(second.as_mut().now_or_never().is_none(), "half of them");
        let others = permits
            .acquire(other)
            .now_or_never()
            .expect("the other permit");
        drop(others);
        assert!(second.as_mut().now_or_never().is_none(), "still half");
        drop(first);
        assert!(second.now_or_never().is_some());
    }

    #[test]
    fn one_processor_has_one_permit() {
        let permits = BatchPermits::new(1);
        let account = AccountId(Uuid::from_u128(1));
        let permit = permits.acquire(account).now_or_never();
        assert!(permit.is_some() && permits.acquire(account).now_or_never().is_none());
    }
}
