//! Admission of new jobs: the rules of key, rate, live jobs and spending that a decision applies when it reserves the price.
//!
//! Only a decision of its account changes a key, so the cached key is valid until such a decision replaces it.

use super::Decisions;
use super::state::{KeyState, KeyTerms};
use crate::domain::amount::Amount;
use crate::domain::api_key::{ApiKey, KeyHash, RateLimit};
use crate::domain::caller::{CallerRefusal, PresentedKey, check_caller, is_stricter};
use crate::domain::ids::KeyId;
use crate::domain::ledger::Balances;
use crate::domain::spending::Spending;
use crate::domain::tier::Tier;
use crate::domain::time::Timestamp;
use crate::store::commands::{AcceptError, LiveJobs};
use crate::store::tables::{API_KEY_SPENDING, API_KEYS, API_KEYS_BY_ID, DAILY_USAGE};
use crate::store::{StoreError, Writes};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The keys of an account that may have live jobs at the same time. Nodes store one entry per such key in the record of the account's
/// sums, which must not exceed the largest value of an engine. An account has at most a hundred keys, but deleted keys count as long as they
/// have live jobs.
pub const MAX_KEYS_WITH_LIVE_JOBS: usize = 500;

/// One job, or the jobs of a batch, which are accepted all or none.
pub(super) struct AdmissionRequest<'a> {
    pub key: KeyId,
    /// `None` for calls from the panel.
    pub shown: Option<&'a PresentedKey>,
    /// The account's rate limit when the call was counted.
    pub account_rate_limit: Option<RateLimit>,
    pub models: &'a [Tier],
    pub jobs: usize,
    /// The sum of the jobs' prices.
    pub price: Amount,
}

impl Decisions<'_> {
    /// Checks the limits of a call whose key is checked already. Returns the balances with the price reserved.
    pub(super) fn admit(
        &mut self,
        admission: &AdmissionRequest<'_>,
        key: &ApiKey,
        now: Timestamp,
    ) -> Result<Balances, AcceptError> {
        if let Some(pause) = self.pause {
            admission
                .models
                .iter()
                .try_for_each(|it| pause.admit(*it))?;
        }
        self.check_rate(admission, key)?;
        let live = LiveJobs {
            of_account: self.next.live_jobs,
            max_of_account: self.limits.max_live(&self.next.account.limits),
            of_key: self.key(key.id).live_jobs,
            max_of_key: key.max_concurrent,
        };
        live.admit(admission.jobs)?;
        self.check_keys_with_live_jobs(live.of_key)?;
        let balances = self.next.account.balances.hold(admission.price)?;
        // Reserved amounts count as spent, because each live job may be charged: so no day and no month is ever charged more than its
        // limit.
        let spending = self.next.account.check_spending(admission.price, now);
        spending.map_err(AcceptError::AccountLimit)?;
        self.check_key_spending(key, admission.price, now)?;
        Ok(balances)
    }

    /// Checks the calling key in its current form and returns it.
    pub(super) fn check_key(
        &mut self,
        admission: &AdmissionRequest<'_>,
        now: Timestamp,
    ) -> Result<Arc<(KeyHash, ApiKey)>, AcceptError> {
        let is_active = self.next.account.active;
        let terms = self.terms(admission.key)?.ok_or(CallerRefusal::Unknown)?;
        let (hash, key) = &*terms;
        for tier in admission.models {
            check_caller(hash, key, admission.shown, *tier, is_active, now)?;
        }
        Ok(terms)
    }

    /// Refuses a call if its key's or account's rate limit has become stricter since the call was counted.
    fn check_rate(
        &self,
        admission: &AdmissionRequest<'_>,
        key: &ApiKey,
    ) -> Result<(), AcceptError> {
        let now_of_account = self.next.account.limits.rate_limit;
        let is_account_stricter = is_stricter(now_of_account, admission.account_rate_limit);
        let shown = admission.shown;
        let is_key_stricter = shown.is_some_and(|it| is_stricter(key.rate_limit, it.rate_limit));
        match is_account_stricter || is_key_stricter {
            true => Err(AcceptError::RateLowered),
            false => Ok(()),
        }
    }

    /// Replaces a cached key. `after` is the changed key with the hash of its text, `None` for a removed key. `writes` persist
    /// the change.
    pub fn change_key(&mut self, id: KeyId, after: Option<(KeyHash, ApiKey)>, writes: Writes) {
        self.key(id).terms = Some(after.map(Arc::new));
        self.records.put_all(writes);
    }

    fn terms(&mut self, id: KeyId) -> Result<KeyTerms, StoreError> {
        if let Some(terms) = &self.key(id).terms {
            return Ok(terms.clone());
        }
        let hash = self.records.read(&API_KEYS_BY_ID, &id)?;
        let key = match hash {
            Some(hash) => self.records.read(&API_KEYS, &hash)?.map(|key| (hash, key)),
            None => None,
        };
        let account = self.state.account.id;
        let terms = key.filter(|(_, key)| key.account == account).map(Arc::new);
        // Do not cache a missing key: a commit outside of the account's decisions may create it.
        if terms.is_some() {
            self.key(id).terms = Some(terms.clone());
        }
        Ok(terms)
    }

    /// Refuses the first live job of a key if too many keys have live jobs.
    fn check_keys_with_live_jobs(&self, live_of_key: usize) -> Result<(), AcceptError> {
        let most = MAX_KEYS_WITH_LIVE_JOBS;
        match live_of_key == 0 && self.keys_with_live_jobs().count() >= most {
            true => Err(AcceptError::TooManyKeys { most }),
            false => Ok(()),
        }
    }

    /// The keys with live jobs after the decisions so far.
    pub(super) fn keys_with_live_jobs(&self) -> impl Iterator<Item = (&KeyId, &KeyState)> {
        let before = self.state.keys.iter();
        let unchanged = before.filter(|(id, _)| !self.next.keys.contains_key(id));
        let all = unchanged.chain(&self.next.keys);
        all.filter(|(_, it)| it.live_jobs > 0)
    }

    /// Refuses a price above the key's spend limits.
    fn check_key_spending(
        &mut self,
        key: &ApiKey,
        price: Amount,
        now: Timestamp,
    ) -> Result<(), AcceptError> {
        let limits = key.spend_limits();
        if !limits.any() {
            return Ok(());
        }
        let spent = self.spent(key.id)?;
        let held = self.key(key.id).held;
        Ok(limits.check(&spent, held, price, now)?)
    }

    pub(super) fn spent(&mut self, key: KeyId) -> Result<Spending, StoreError> {
        if let Some(spent) = self.key(key).spent {
            return Ok(spent);
        }
        let spent = self
            .records
            .read(&API_KEY_SPENDING, &key)?
            .unwrap_or_default();
        self.key(key).spent = Some(spent);
        Ok(spent)
    }

    /// Sums the account's spending from the daily charges of its keys.
    pub(super) fn count_spending(&mut self) -> Result<Spending, StoreError> {
        let range = DAILY_USAGE.range(&self.state.account.id);
        let usage = self.records.read_range(&DAILY_USAGE, range)?;
        let mut days: BTreeMap<i64, Amount> = BTreeMap::new();
        let totals = usage.into_iter().map(|(key, it)| (key, it.totals()));
        for (key, totals) in totals.filter(|(_, it)| it.done > 0) {
            let day = days.entry(key.day).or_default();
            let sum = day.plus(totals.spent);
            *day = self.or_inconsistent(sum)?;
        }
        self.or_inconsistent(Spending::of_days(days))
    }
}
