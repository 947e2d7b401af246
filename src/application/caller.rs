//! Who asks for a use case, and what they may ask for.

use super::audit_context::AuditContext;
use super::error::Error;
use super::rate_limit::{self, Standing};
use std::sync::Arc;
use tintype_storage::domain::api_key::ApiKey;
use tintype_storage::domain::caller::{CallerRefusal, ShownKey};
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::tier::Tier;

/// Who asks.
#[derive(Clone, Debug)]
pub enum Caller {
    /// The holder of an API key.
    ApiKey {
        key: Arc<ApiKey>,
        /// How the key was shown.
        shown: ShownKey,
        /// How the key stands with its rate limit, this call counted.
        rate: Option<Standing>,
    },
    /// A person of an account, or the operator in its stead. What they submit is charged under a key of the account that nobody
    /// holds.
    Person {
        key: Arc<ApiKey>,
        audit: AuditContext,
    },
}

impl Caller {
    /// The account that pays, and whose jobs the caller sees.
    pub fn account(&self) -> AccountId {
        self.key().account
    }

    /// The key that is charged.
    pub fn key(&self) -> &Arc<ApiKey> {
        match self {
            Self::ApiKey { key, .. } | Self::Person { key, .. } => key,
        }
    }

    /// How the key was shown; `None` for a person.
    pub fn shown(&self) -> Option<ShownKey> {
        match self {
            Self::ApiKey { shown, .. } => Some(*shown),
            Self::Person { .. } => None,
        }
    }

    /// Who stands in the audit log with what they do; `None` for the holder of a key.
    pub fn audit(&self) -> Option<&AuditContext> {
        match self {
            Self::ApiKey { .. } => None,
            Self::Person { audit, .. } => Some(audit),
        }
    }

    /// Refuses a model that the key is not scoped for.
    ///
    /// # Errors
    /// `ModelNotAllowed`
    pub fn check_scope(&self, tier: Tier) -> Result<(), Error> {
        match self.key().allows(tier) {
            true => Ok(()),
            false => Err(CallerRefusal::Model(tier).into()),
        }
    }

    /// Refuses a call that is one too many for the key's rate. The call was counted when it came; the refusal waits for its place
    /// in the order of checks.
    ///
    /// # Errors
    /// `RateLimited`
    pub fn check_rate(&self) -> Result<(), Error> {
        match self {
            Self::ApiKey { rate, .. } => rate_limit::admit(*rate),
            Self::Person { .. } => Ok(()),
        }
    }
}
