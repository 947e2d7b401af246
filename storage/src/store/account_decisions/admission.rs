//! Whether new jobs are accepted: the rules that hold in the decision that reserves their price.

use super::Decisions;
use crate::domain::amount::Amount;
use crate::domain::api_key::{ApiKey, RateLimit};
use crate::domain::caller::ShownKey;
use crate::domain::ids::KeyId;
use crate::domain::ledger::Balances;
use crate::domain::tier::Tier;
use crate::domain::time::Timestamp;
use crate::store::commands::AcceptError;

/// What is asked for: one job, or the jobs of a batch, which are accepted together or not at all.
pub(super) struct Asked<'a> {
    /// The key that asks.
    pub key: KeyId,
    /// How the key was shown; `None` in the panel.
    pub shown: Option<&'a ShownKey>,
    /// The account's rate limit under which the call was counted.
    pub account_rate_limit: Option<RateLimit>,
    /// The models of the jobs.
    pub models: &'a [Tier],
    /// How many jobs.
    pub jobs: usize,
    /// The sum of their prices.
    pub price: Amount,
}

impl Decisions<'_> {
    /// Admits what a key may ask for that was judged, and returns the balances with the price held.
    pub(super) fn admit(
        &mut self,
        asked: &Asked<'_>,
        key: &ApiKey,
        now: Timestamp,
    ) -> Result<Balances, AcceptError> {
        if let Some(pause) = self.pause {
            asked.models.iter().try_for_each(|it| pause.admit(*it))?;
        }
        self.judge_rate(asked)?;
        self.check_live_jobs(key, asked.jobs)?;
        let balances = self.account.balances.hold(asked.price)?;
        self.check_account_spending(asked.price, now)?;
        self.check_key_spending(key, asked.price, now)?;
        Ok(balances)
    }
}
