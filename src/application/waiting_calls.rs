//! Bounds the calls of each account that wait: long polls, and streams of job events. Each holds a connection and memory.

use super::error::{Error, ErrorKind};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use tintype_storage::domain::counted::counted;
use tintype_storage::domain::ids::AccountId;

/// Most of them end within this many seconds.
const RETRY_AFTER: u32 = 5;

pub struct WaitingCalls {
    per_account: usize,
    counts: Arc<Mutex<HashMap<AccountId, usize>>>,
}

/// Counts a waiting call until it is dropped.
pub struct WaitingCall {
    account: AccountId,
    counts: Arc<Mutex<HashMap<AccountId, usize>>>,
}

impl WaitingCalls {
    pub fn new(per_account: usize) -> Self {
        Self {
            per_account,
            counts: Arc::default(),
        }
    }

    /// # Errors
    /// `RateLimited`
    pub fn admit(&self, account: AccountId) -> Result<WaitingCall, Error> {
        let mut counts = self.counts.lock();
        let count = counts.entry(account).or_default();
        if *count >= self.per_account {
            let detail = format!(
                "this account has {} that wait for jobs or batches, the most it may have; wait with fewer at a time, or use webhooks",
                counted(*count, "call")
            );
            return Err(Error::new(ErrorKind::RateLimited, detail).retry_after(RETRY_AFTER));
        }
        *count += 1;
        Ok(WaitingCall {
            account,
            counts: Arc::clone(&self.counts),
        })
    }
}

impl Drop for WaitingCall {
    fn drop(&mut self) {
        if let Entry::Occupied(mut count) = self.counts.lock().entry(self.account) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_account_has_its_own_count() {
        let calls = WaitingCalls::new(2);
        let [first, second] = [1, 2].map(|it| AccountId(uuid::Uuid::from_u128(it)));
        let held = [(); 2].map(|()| calls.admit(first).ok());
        assert!(held.iter().all(Option::is_some));
        let error = calls.admit(first).err().expect("a third call");
        assert!(error.detail.contains("has 2 calls"), "{}", error.detail);
        drop(calls.admit(second).expect("another account"));
        drop(held);
        assert!(calls.counts.lock().is_empty(), "no account is left behind");
        assert!(calls.admit(first).is_ok());
    }
}
