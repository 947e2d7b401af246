//! Queued jobs that expire if they do not begin in time.

use parking_lot::Mutex;
use std::collections::BTreeSet;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::time::Timestamp;
use tokio::sync::Notify;

/// A job that fails if it is still queued when it is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Expiry {
    pub due: Timestamp,
    pub job: JobId,
    pub account: AccountId,
}

/// The recorded expiries, the next one first.
#[derive(Default)]
pub struct Expiries {
    sorted: Mutex<BTreeSet<Expiry>>,
    added: Notify,
}

impl Expiries {
    pub fn add_all(&self, expiries: impl IntoIterator<Item = Expiry>) {
        let mut sorted = self.sorted.lock();
        let before = sorted.len();
        sorted.extend(expiries);
        if sorted.len() > before {
            self.added.notify_one();
        }
    }

    /// When the next expiry is due.
    pub fn next_due(&self) -> Option<Timestamp> {
        self.sorted.lock().first().map(|it| it.due)
    }

    /// Takes up to `limit` due expiries.
    pub fn take_due(&self, now: Timestamp, limit: usize) -> Vec<Expiry> {
        let mut sorted = self.sorted.lock();
        let mut due = Vec::new();
        while due.len() < limit
            && let Some(first) = sorted.first().copied().filter(|it| it.due <= now)
        {
            sorted.remove(&first);
            due.push(first);
        }
        due
    }

    /// Waits until an expiry is added.
    pub async fn added(&self) {
        self.added.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;
    use uuid::Uuid;

    fn expiry(due: i64, job: u128) -> Expiry {
        Expiry {
            due: Timestamp::from_millis(due),
            job: JobId(Uuid::from_u128(job)),
            account: AccountId(Uuid::nil()),
        }
    }

    #[test]
    fn due_expiries_are_returned_once_and_in_order() {
        let expiries = Expiries::default();
        expiries.add_all([expiry(30, 1), expiry(10, 2), expiry(20, 3)]);
        let at = Timestamp::from_millis;
        assert_eq!(expiries.next_due(), Some(at(10)));
        assert_eq!(expiries.take_due(at(9), 9), []);
        assert_eq!(expiries.take_due(at(20), 1), [expiry(10, 2)]);
        assert_eq!(expiries.take_due(at(20), 9), [expiry(20, 3)]);
        assert_eq!(expiries.next_due(), Some(at(30)));
        assert!(expiries.added().now_or_never().is_some());
        expiries.add_all([]);
        assert!(expiries.added().now_or_never().is_none());
    }
}
