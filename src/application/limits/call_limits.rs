//! Rate limits of callers, and limits of their calls that wait.

use super::batch_permits::BatchPermits;
use super::damaged_inputs::DamagedInputs;
use super::rate_limit::{self, Elapsed, Excess, Limiters, Rates};
use crate::application::error::{Error, ErrorKind};
use crate::config::Limits;
use std::sync::Arc;
use tintype_fair_semaphore::{FairSemaphore, Permit};
use tintype_storage::domain::api_key::{ApiKey, RateLimit};
use tintype_storage::domain::counted::counted;
use tintype_storage::domain::ids::{AccountId, KeyId};
use tintype_storage::domain::person::PersonId;
use tintype_storage::domain::rate_count::{LimitKind, RateCount};
use tokio::sync::Semaphore;

/// Changes by one person.
const CHANGES: RateLimit = RateLimit {
    per_second: 10,
    burst: 50,
};
/// Event streams of one person, or of the operator. A stream reads the newest records every second, and a browser has one for each
/// visible page.
const MAX_EVENT_STREAMS: u64 = 32;
/// Each delayed refusal holds a connection and a request.
pub(crate) const MAX_HELD_REFUSALS: usize = 8_192;

/// The limits live in this process and reset when it restarts.
pub struct CallLimits {
    pub keys: Rates,
    /// Shared by all keys of an account.
    pub accounts: Limiters<AccountId>,
    /// Calls with fetched input images, of keys that have no rate limit.
    fetches: Rates,
    damaged_inputs: Arc<DamagedInputs>,
    changes: Limiters<PersonId>,
    event_streams: FairSemaphore<Option<PersonId>>,
    /// Long polls and streams of job events: each holds a connection and memory.
    waiting_calls: FairSemaphore<AccountId>,
    waiting_calls_per_account: usize,
    /// Slots for delayed refusals of creations.
    pub held_refusals: Semaphore,
    pub batches: BatchPermits,
}

impl CallLimits {
    pub fn new(limits: &Limits, damaged_inputs: Arc<DamagedInputs>, elapsed: &Elapsed) -> Self {
        let elapsed = || Arc::clone(elapsed);
        Self {
            keys: Rates::new(limits.key_rate(), elapsed()),
            accounts: Limiters::new(elapsed()),
            fetches: Rates::new(limits.fetch_rate(), elapsed()),
            damaged_inputs,
            changes: Limiters::new(elapsed()),
            event_streams: FairSemaphore::per_key(MAX_EVENT_STREAMS),
            waiting_calls: FairSemaphore::per_key(limits.waiting_calls_per_account as u64),
            waiting_calls_per_account: limits.waiting_calls_per_account,
            held_refusals: Semaphore::new(MAX_HELD_REFUSALS),
            batches: BatchPermits::default(),
        }
    }

    /// Counts a call with input images, unless its key has a rate limit. A call that fetches no images counts only if an image of its
    /// key was damaged recently, because no caller pays for decoding a damaged image.
    pub fn admit_inputs(&self, key: &ApiKey, are_fetched: bool) -> Result<(), Error> {
        let counts = are_fetched || self.damaged_inputs.are_recent(key.id);
        if !counts || self.keys.of(key).is_some() {
            return Ok(());
        }
        let reason = match are_fetched {
            true => "only calls that fetch input images count",
            false => {
                "calls with input images count, because an input image of this key was damaged within the last minute"
            }
        };
        rate_limit::admit(self.fetches.count(key)).map_err(|error| Error {
            detail: format!("{}; {reason}", error.detail),
            ..error
        })
    }

    /// The counts to publish to the other nodes.
    pub fn counts(&self) -> Vec<RateCount> {
        let keys = self.keys.limiters.counts(LimitKind::Key, |it| it.0);
        let accounts = self.accounts.counts(LimitKind::Account, |it| it.0);
        let fetches = self.fetches.limiters.counts(LimitKind::Fetches, |it| it.0);
        let changes = self.changes.counts(LimitKind::Changes, |it| it.0);
        [keys, accounts, fetches, changes].concat()
    }

    /// Charges calls that another node admitted.
    pub fn charge(&self, count: &RateCount, excess: Excess) {
        let RateCount {
            id,
            rate,
            admitted: calls,
            ..
        } = *count;
        match count.limited {
            LimitKind::Key => self.keys.limiters.charge(KeyId(id), rate, calls, excess),
            LimitKind::Account => self.accounts.charge(AccountId(id), rate, calls, excess),
            LimitKind::Fetches => {
                let limiters = &self.fetches.limiters;
                limiters.charge(KeyId(id), rate, calls, excess);
            }
            LimitKind::Changes => self.changes.charge(PersonId(id), rate, calls, excess),
        }
    }

    pub fn admit_change(&self, person: PersonId) -> Result<(), Error> {
        self.changes.count(person, CHANGES).check("you", "changes")
    }

    /// Permits an event stream of the panel while the permit exists. `None`: the operator.
    pub fn admit_event_stream(
        &self,
        person: Option<PersonId>,
    ) -> Result<Permit<Option<PersonId>>, Error> {
        self.event_streams.try_acquire(person, 1).ok_or_else(|| {
            let detail = format!("you have {MAX_EVENT_STREAMS} live pages open; close one of them");
            Error::new(ErrorKind::RateLimited, detail).retry_after(5)
        })
    }

    /// Counts a waiting call of the account while the permit exists.
    pub fn admit_waiting(&self, account: AccountId) -> Result<Permit<AccountId>, Error> {
        self.waiting_calls.try_acquire(account, 1).ok_or_else(|| {
            let detail = format!(
                "this account already has {} waiting for jobs or batches, the maximum; wait with fewer at a time, or use webhooks",
                counted(self.waiting_calls_per_account, "call")
            );
            Error::new(ErrorKind::RateLimited, detail).retry_after(5)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Sources};
    use std::time::Duration;
    use tintype_storage::domain::time::Timestamp;
    use uuid::Uuid;

    const KEY_RATE: RateLimit = RateLimit {
        per_second: 1,
        burst: 3,
    };

    fn node() -> CallLimits {
        let elapsed: Elapsed = Arc::new(|| Duration::ZERO);
        let config = Config::load(&Sources::default()).unwrap();
        let damaged_inputs = Arc::new(DamagedInputs::new(&elapsed));
        CallLimits::new(&config.limits, damaged_inputs, &elapsed)
    }

    /// Makes calls of every kind until one is refused. Returns how many are admitted of each kind.
    fn admitted(node: &CallLimits, id: u128) -> [u64; 4] {
        let id = Uuid::from_u128(id);
        let (account, person) = (AccountId(id), PersonId(id));
        let key = ApiKey::with_all_rights(KeyId(id), account, Timestamp::from_millis(0));
        let limited = ApiKey {
            rate_limit: Some(KEY_RATE),
            ..key.clone()
        };
        let until_refused = |is_admitted: &dyn Fn() -> bool| {
            let mut calls = 0;
            while is_admitted() {
                calls += 1;
            }
            calls
        };
        [
            until_refused(&|| rate_limit::admit(node.keys.count(&limited)).is_ok()),
            until_refused(&|| node.accounts.count(account, KEY_RATE).admit().is_ok()),
            until_refused(&|| node.admit_inputs(&key, true).is_ok()),
            until_refused(&|| node.admit_change(person).is_ok()),
        ]
    }

    #[test]
    fn a_node_charges_the_calls_of_every_kind_that_another_node_admits() {
        let (one, other) = (node(), node());
        let bursts = [3, 3, 20, 50];
        assert_eq!(admitted(&one, 1), bursts);
        for count in one.counts() {
            other.charge(&count, Excess::BecomesDebt);
        }
        assert_eq!(admitted(&other, 1), [0; 4]);
        // The limits of other callers have their whole bursts.
        assert_eq!(admitted(&other, 2), bursts);
    }
}
