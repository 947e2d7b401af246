//! Admission of new jobs: the rules that the decision applies when it reserves the price.

use super::Decisions;
use crate::domain::amount::Amount;
use crate::domain::api_key::{ApiKey, RateLimit};
use crate::domain::caller::ShownKey;
use crate::domain::ids::KeyId;
use crate::domain::ledger::Balances;
use crate::domain::tier::Tier;
use crate::domain::time::Timestamp;
use crate::store::commands::AcceptError;

/// One job, or the jobs of a batch, which are accepted all or none.
pub(super) struct AdmissionRequest<'a> {
    pub key: KeyId,
    /// `None` for calls from the panel.
    pub shown: Option<&'a ShownKey>,
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
        self.check_rate(admission)?;
        self.check_live_jobs(key, admission.jobs)?;
        let balances = self.account.balances.hold(admission.price)?;
        self.check_account_spending(admission.price, now)?;
        self.check_key_spending(key, admission.price, now)?;
        Ok(balances)
    }
}
