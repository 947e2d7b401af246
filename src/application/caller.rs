//! Who asks for a use case, and what they may do. Every use case that is not about a caller's own generations decides here.

use super::audit_context::AuditContext;
use super::error::{Error, ErrorKind};
use super::payer::Payer;
use super::state::AppState;
use tintype_storage::domain::account::Account;
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::person::{Person, Role};

/// Who asks.
#[derive(Clone, Debug)]
pub enum Caller {
    /// The holder of an API key, who sees the account of the key, and changes nothing but its jobs.
    ApiKey(Payer),
    /// A person who has signed in. They see their own account; owners change what is in it.
    Person { person: Person, audit: AuditContext },
    /// The operator, or the service itself.
    Operator {
        audit: AuditContext,
        /// The one account that the call is about; `None`: all.
        within: Option<AccountId>,
    },
}

impl Caller {
    /// The service itself.
    pub fn service() -> Self {
        Self::operator(AuditContext::service())
    }

    pub fn operator(audit: AuditContext) -> Self {
        Self::Operator {
            audit,
            within: None,
        }
    }

    /// The same caller, who now sees this account alone.
    pub fn within(self, account: AccountId) -> Self {
        match self {
            Self::Operator { audit, .. } => Self::Operator {
                audit,
                within: Some(account),
            },
            other => other,
        }
    }

    pub fn is_operator(&self) -> bool {
        matches!(self, Self::Operator { .. })
    }

    /// May they look at an account and what belongs to it? To those who may not, it does not exist.
    pub fn sees(&self, account: AccountId) -> bool {
        match self {
            Self::ApiKey(payer) => payer.account() == account,
            Self::Person { person, .. } => person.account == account,
            Self::Operator { within, .. } => within.is_none_or(|it| it == account),
        }
    }

    /// Who stands in the audit log with what only the operator may do.
    ///
    /// # Errors
    /// `Forbidden`
    pub fn operate(&self) -> Result<&AuditContext, Error> {
        match self {
            Self::Operator { audit, .. } => Ok(audit),
            Self::ApiKey(_) | Self::Person { .. } => Err(forbidden("this is for the operator")),
        }
    }

    /// Who stands in the audit log with a change of what belongs to an account.
    ///
    /// # Errors
    /// `Forbidden`
    pub fn change_in(&self, account: &Account) -> Result<&AuditContext, Error> {
        match self {
            Self::Operator { audit, .. } => Ok(audit),
            Self::Person { person, .. } if person.role != Role::Owner => {
                let detail =
                    "you may look at this account but not change it; ask one of its owners";
                Err(forbidden(detail))
            }
            Self::Person { audit, .. } => check_active(account).map(|()| audit),
            Self::ApiKey(_) => Err(forbidden("an API key cannot change this")),
        }
    }

    /// The same for the id of an account.
    ///
    /// # Errors
    /// `Forbidden`
    pub async fn change(
        &self,
        state: &AppState,
        account: AccountId,
    ) -> Result<&AuditContext, Error> {
        if let Self::Operator { audit, .. } = self {
            return Ok(audit);
        }
        let gone = || forbidden("the account is gone");
        self.change_in(&state.store.account(account).await?.ok_or_else(gone)?)
    }
}

/// Refuses what is not done while the operator has an account switched off.
///
/// # Errors
/// `Forbidden`
pub fn check_active(account: &Account) -> Result<(), Error> {
    match account.active {
        true => Ok(()),
        false => Err(forbidden(
            "this account is switched off: it can be looked at, and nothing is made or changed for it",
        )),
    }
}

fn forbidden(detail: &str) -> Error {
    Error::new(ErrorKind::Forbidden, detail)
}
