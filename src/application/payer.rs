//! The API key that a generation is charged to.

use super::audit_context::AuditContext;
use super::error::Error;
use super::rate_limit::Counted;
use std::sync::Arc;
use tintype_storage::domain::api_key::ApiKey;
use tintype_storage::domain::caller::{CallerRefusal, ShownKey};
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::tier::Tier;
use tintype_storage::store::BeforeJobs;

/// The key that is charged, and who uses it.
#[derive(Clone, Debug)]
pub struct Payer {
    pub key: Arc<ApiKey>,
    /// How the key was shown; `None` for a person or the operator, who use a key of the account whose text is not stored.
    pub shown: Option<ShownKey>,
    /// How the key and the account stand with their rate limits, this call counted.
    pub counted: Counted,
    /// What was read with the key, if anything was, for the checks of a call that asks for jobs.
    pub before_jobs: Option<Arc<BeforeJobs>>,
    /// Another node may have changed the key since it was read. Only a decision that reads it anew may accept anything.
    pub is_remembered: bool,
    /// For the audit log: the person or the operator.
    pub audit: Option<AuditContext>,
}

impl Payer {
    /// The account that pays.
    pub fn account(&self) -> AccountId {
        self.key.account
    }

    /// Refuses a model that the key is not scoped for.
    ///
    /// # Errors
    /// `ModelNotAllowed`
    pub fn check_scope(&self, tier: Tier) -> Result<(), Error> {
        match self.key.allows(tier) {
            true => Ok(()),
            false => Err(CallerRefusal::Model(tier).into()),
        }
    }

    /// Refuses a call that is one too many for the rate of the key or the account. The call was counted when it came; the refusal waits for its place
    /// in the order of checks.
    ///
    /// # Errors
    /// `RateLimited`
    pub fn check_rate(&self) -> Result<(), Error> {
        self.counted.admit()
    }
}
