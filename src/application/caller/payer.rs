//! The API key that a generation is charged to.

use super::person_access::PersonAccess;
use crate::application::core::Core;
use crate::application::core::audit_context::AuditContext;
use crate::application::error::Error;
use crate::application::limits::rate_limit::RateStates;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::api_key::ApiKey;
use tintype_storage::domain::caller::{CallerRefusal, PresentedKey};
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::tier::Tier;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::store::BeforeJobs;

/// A body that arrives at once is checked earlier, and jobs rarely end earlier.
const MAX_AGE_OF_BEFORE_JOBS: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
pub struct Payer {
    pub key: Arc<ApiKey>,
    /// The presented key text; `None` for a person or the operator, who use a key of the account without its text.
    pub shown: Option<PresentedKey>,
    /// The rate limits of the key and the account after this call.
    pub counted: RateStates,
    /// See [`Self::before_jobs`].
    pub before_jobs: Option<Arc<BeforeJobs>>,
    /// Set for a person and for the operator.
    pub audit: Option<AuditContext>,
    /// Set for a person, whose access is checked again before the account decides.
    pub person: Option<PersonAccess>,
}

impl Payer {
    pub fn account(&self) -> AccountId {
        self.key.account
    }

    /// Refuses a call whose key or account was deactivated or deleted while the body arrived. A call that reserves money is checked in
    /// the decision of its account instead.
    ///
    /// # Errors
    /// `Unauthorized`; the store fails
    pub async fn check_key(&self, core: &Core) -> Result<(), Error> {
        let Some((_, key)) = core.store.key(self.key.id).await? else {
            return Err(CallerRefusal::Unknown.into());
        };
        let account = core.store.account(self.account()).await?;
        let is_active = account.is_some_and(|it| it.active);
        let admitted = key.admit(is_active, core.now());
        admitted.map_err(|refusal| CallerRefusal::from(refusal).into())
    }

    /// The records that were read together with the key, unless they are too old to refuse a call: its body may have arrived slowly.
    pub fn before_jobs(&self, now: Timestamp) -> Option<&BeforeJobs> {
        let read = self.before_jobs.as_deref()?;
        let is_recent = read.at <= now && now <= read.at.plus(MAX_AGE_OF_BEFORE_JOBS);
        is_recent.then_some(read)
    }

    /// Refuses a model that the key is not scoped for.
    pub fn check_scope(&self, tier: Tier) -> Result<(), Error> {
        match self.key.allows(tier) {
            true => Ok(()),
            false => Err(CallerRefusal::Model(tier).into()),
        }
    }

    pub fn check_scopes(&self, tiers: &[Tier]) -> Result<(), Error> {
        tiers.iter().try_for_each(|tier| self.check_scope(*tier))
    }

    /// Refuses a call that exceeds the rate limit of the key or the account. Authentication counted the call; the refusal comes here, at
    /// its step in the published order of checks.
    pub fn check_rate(&self) -> Result<(), Error> {
        self.counted.admit()
    }
}
