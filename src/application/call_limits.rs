//! How much callers may do: how often, and how much memory their calls may hold.

use super::batch_turns::BatchTurns;
use super::damaged_inputs::DamagedInputs;
use super::error::Error;
use super::rate_limit::{self, Elapsed, Limiters, Rates};
use crate::config::Limits;
use crate::inputs::MemoryBudget;
use std::sync::Arc;
use tintype_storage::domain::api_key::{ApiKey, RateLimit};
use tintype_storage::domain::ids::{AccountId, KeyId};
use tintype_storage::domain::person::PersonId;
use tintype_storage::domain::rate_count::{Limited, RateCount};
use tokio::sync::Semaphore;

/// How often one person may change something.
const CHANGES: RateLimit = RateLimit {
    per_second: 10,
    burst: 50,
};
/// Refusals that are held back at most, each with its connection and request.
pub(super) const MOST_HELD_REFUSALS: usize = 8_192;

/// The limits of calls. They are the process's own and begin anew with it.
pub struct CallLimits {
    /// The rates of keys.
    pub keys: Rates,
    /// The rates of all keys of an account together.
    pub accounts: Limiters<AccountId>,
    /// How often keys that have no rate may make the service fetch.
    fetches: Rates,
    damaged_inputs: Arc<DamagedInputs>,
    /// How often people of accounts may change something.
    changes: Limiters<PersonId>,
    /// Places for refused creations whose callers are told after a pause.
    pub held_refusals: Semaphore,
    /// How many batches are worked on at a time.
    pub batches: BatchTurns,
    /// The memory that input images pass through.
    pub memory: MemoryBudget,
}

impl CallLimits {
    pub fn new(
        limits: &Limits,
        memory: MemoryBudget,
        damaged_inputs: Arc<DamagedInputs>,
        elapsed: &Elapsed,
    ) -> Self {
        let elapsed = || Arc::clone(elapsed);
        Self {
            keys: Rates::new(limits.key_rate(), elapsed()),
            accounts: Limiters::new(elapsed()),
            fetches: Rates::new(limits.fetch_rate(), elapsed()),
            damaged_inputs,
            changes: Limiters::new(elapsed()),
            held_refusals: Semaphore::new(MOST_HELD_REFUSALS),
            batches: BatchTurns::default(),
            memory,
        }
    }

    /// Counts a call with input images, where the calls of its key are not limited. A call that fetches none counts only while an
    /// image of its key has turned out damaged recently: decoding such an image is work that no caller pays for.
    ///
    /// # Errors
    /// It was one too many.
    pub fn admit_inputs(&self, key: &ApiKey, are_fetched: bool) -> Result<(), Error> {
        let counts = are_fetched || self.damaged_inputs.are_recent(key.id);
        if !counts || self.keys.of(key).is_some() {
            return Ok(());
        }
        let reason = match are_fetched {
            true => "only calls that fetch input images count",
            false => {
                "calls with input images count, because one of this key's was damaged within the last minute"
            }
        };
        rate_limit::admit(self.fetches.count(key)).map_err(|error| Error {
            detail: format!("{}; {reason}", error.detail),
            ..error
        })
    }

    /// What other nodes are to hear of the calls that were counted here.
    pub fn counts(&self) -> Vec<RateCount> {
        let keys = self.keys.limiters().counts(Limited::Key, |it| it.0);
        let accounts = self.accounts.counts(Limited::Account, |it| it.0);
        let fetches = self.fetches.limiters().counts(Limited::Fetches, |it| it.0);
        let changes = self.changes.counts(Limited::Changes, |it| it.0);
        [keys, accounts, fetches, changes].concat()
    }

    /// Takes out of the buckets what another node has admitted.
    pub fn charge(&self, count: &RateCount) {
        let RateCount {
            id, rate, admitted, ..
        } = *count;
        match count.limited {
            Limited::Key => self.keys.limiters().charge(KeyId(id), rate, admitted),
            Limited::Account => self.accounts.charge(AccountId(id), rate, admitted),
            Limited::Fetches => self.fetches.limiters().charge(KeyId(id), rate, admitted),
            Limited::Changes => self.changes.charge(PersonId(id), rate, admitted),
        }
    }

    /// Counts a change that a person makes.
    ///
    /// # Errors
    /// It was one too many.
    pub fn admit_change(&self, person: PersonId) -> Result<(), Error> {
        self.changes.count(person, CHANGES).check("you", "changes")
    }
}
