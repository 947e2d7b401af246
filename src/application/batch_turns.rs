//! Turns of batches: few are parsed, and few are decided and written, at a time, so that a single call is not behind all of them.
//! A batch that is to be written waits besides until the store has caught up with the earlier ones.

use std::thread::available_parallelism;
use std::time::Duration;
use tintype_fair_semaphore::{FairSemaphore, Permit};
use tintype_storage::domain::ids::AccountId;
use tintype_storage::store::Store;
use tokio::time::timeout;

/// After so long a batch is written all the same.
const MOST_WAIT: Duration = Duration::from_secs(5);

/// The turns of all batches. Accounts take turns, and one account has at most half of them.
pub struct BatchTurns(FairSemaphore<AccountId>);

/// The turn of a batch, until it is dropped.
pub type BatchTurn = Permit<AccountId>;

impl Default for BatchTurns {
    /// One for each processor: more would not be faster.
    fn default() -> Self {
        Self::new(available_parallelism().map_or(1, usize::from) as u64)
    }
}

impl BatchTurns {
    fn new(turns: u64) -> Self {
        Self(FairSemaphore::new(turns, turns.div_ceil(2)))
    }

    /// Waits for a turn.
    pub async fn take(&self, account: AccountId) -> BatchTurn {
        self.0.acquire(account, 1).await
    }

    /// Waits for a turn at being written, and until the store has room for a batch beside the single jobs of others.
    pub async fn take_to_write(&self, account: AccountId, store: &Store) -> BatchTurn {
        let turn = self.take(account).await;
        // A store that has failed says so at the commit.
        drop(timeout(MOST_WAIT, store.engine().room_for_bulk()).await);
        turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;
    use uuid::Uuid;

    #[test]
    fn an_account_with_many_batches_leaves_turns_to_another() {
        let [one, other] = [1, 2].map(|it| AccountId(Uuid::from_u128(it)));
        let turns = BatchTurns::new(2);
        let first = turns.take(one).now_or_never().expect("the first turn");
        let mut second = Box::pin(turns.take(one));
        assert!(second.as_mut().now_or_never().is_none(), "half of them");
        let others = turns.take(other).now_or_never().expect("the other turn");
        drop(others);
        assert!(second.as_mut().now_or_never().is_none(), "still half");
        drop(first);
        assert!(second.now_or_never().is_some());
    }

    #[test]
    fn one_processor_has_one_turn() {
        let turns = BatchTurns::new(1);
        let account = AccountId(Uuid::from_u128(1));
        let turn = turns.take(account).now_or_never();
        assert!(turn.is_some() && turns.take(account).now_or_never().is_none());
    }
}
