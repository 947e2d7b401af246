//! The API keys of the jobs in a round. Only a decision of its account changes a key, so the cached key is valid until such a
//! decision replaces it.

use super::Decisions;
use super::admission::AdmissionRequest;
use super::state::KeyTerms;
use crate::domain::api_key::{ApiKey, KeyHash};
use crate::domain::caller::{CallerRefusal, check_caller, is_stricter};
use crate::domain::ids::KeyId;
use crate::domain::time::Timestamp;
use crate::store::commands::AcceptError;
use crate::store::tables::{API_KEYS, API_KEYS_BY_ID};
use crate::store::{StoreError, Writes};
use std::sync::Arc;

impl Decisions<'_> {
    /// Checks the calling key in its current form and returns it.
    pub(super) fn check_key(
        &mut self,
        admission: &AdmissionRequest<'_>,
        now: Timestamp,
    ) -> Result<Arc<(KeyHash, ApiKey)>, AcceptError> {
        let is_active = self.account.active;
        let terms = self.terms(admission.key)?.ok_or(CallerRefusal::Unknown)?;
        let (hash, key) = &*terms;
        for tier in admission.models {
            check_caller(hash, key, admission.shown, *tier, is_active, now)?;
        }
        Ok(terms)
    }

    /// Refuses a call if its key's or account's rate limit has become stricter since the call was counted.
    pub(super) fn check_rate(
        &mut self,
        admission: &AdmissionRequest<'_>,
    ) -> Result<(), AcceptError> {
        if is_stricter(self.account.limits.rate_limit, admission.account_rate_limit) {
            return Err(AcceptError::RateLowered);
        }
        let Some(shown) = admission.shown else {
            return Ok(());
        };
        let now = self
            .terms(admission.key)?
            .and_then(|terms| terms.1.rate_limit);
        if is_stricter(now, shown.rate_limit) {
            return Err(AcceptError::RateLowered);
        }
        Ok(())
    }

    /// Replaces a cached key. `after` is the changed key with the hash of its text, `None` for a removed key. `writes` persist
    /// the change.
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
        // Do not cache a missing key: a commit outside of the account's decisions may create it.
        if terms.is_some() {
            self.key(id).terms = Some(terms.clone());
        }
        Ok(terms)
    }
}
