//! The API keys that ask a round for jobs. Only a decision of its account changes a key, so what was read once holds until such
//! a decision replaces it.

use super::Decisions;
use super::admission::Asked;
use super::state::KeyTerms;
use crate::domain::api_key::{ApiKey, KeyHash};
use crate::domain::caller::{CallerRefusal, is_stricter, judge};
use crate::domain::ids::KeyId;
use crate::domain::time::Timestamp;
use crate::store::commands::AcceptError;
use crate::store::tables::{API_KEYS, API_KEYS_BY_ID};
use crate::store::{StoreError, Writes};
use std::sync::Arc;

impl Decisions<'_> {
    /// Judges the key that asks for jobs as it is now, and returns it.
    pub(super) fn judge_key(
        &mut self,
        asked: &Asked<'_>,
        now: Timestamp,
    ) -> Result<Arc<(KeyHash, ApiKey)>, AcceptError> {
        let is_active = self.account.active;
        let terms = self.terms(asked.key)?.ok_or(CallerRefusal::Unknown)?;
        let (hash, key) = &*terms;
        for tier in asked.models {
            judge(hash, key, asked.shown, *tier, is_active, now)?;
        }
        Ok(terms)
    }

    /// A call was counted against the rate limits that its key and its account had when it came. A stricter one since then refuses it.
    pub(super) fn judge_rate(&mut self, asked: &Asked<'_>) -> Result<(), AcceptError> {
        if is_stricter(self.account.limits.rate_limit, asked.account_rate_limit) {
            return Err(AcceptError::RateLowered);
        }
        let Some(shown) = asked.shown else {
            return Ok(());
        };
        let now = self.terms(asked.key)?.and_then(|terms| terms.1.rate_limit);
        if is_stricter(now, shown.rate_limit) {
            return Err(AcceptError::RateLowered);
        }
        Ok(())
    }

    /// Changes a key: `after` is the key as it will be with the hash of its text, `None` for one that is removed; `writes` make it so.
    pub fn change_key(&mut self, id: KeyId, after: Option<(KeyHash, ApiKey)>, writes: Writes) {
        self.key(id).terms = Some(after.map(Arc::new));
        writes.into_iter().for_each(|write| self.put(write));
    }

    fn terms(&mut self, id: KeyId) -> Result<KeyTerms, StoreError> {
        if let Some(terms) = &self.key(id).terms {
            return Ok(terms.clone());
        }
        let hash = self.read(&API_KEYS_BY_ID, &id)?;
        let key = match hash {
            Some(hash) => self.read(&API_KEYS, &hash)?.map(|key| (hash, key)),
            None => None,
        };
        let account = self.account_id();
        let terms = key.filter(|(_, key)| key.account == account).map(Arc::new);
        // A key that is not there may be made later, by a commit that is no decision of the account.
        if terms.is_some() {
            self.key(id).terms = Some(terms.clone());
        }
        Ok(terms)
    }
}
