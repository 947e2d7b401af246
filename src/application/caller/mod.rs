//! The caller of a use case and their permissions. Every use case except the caller's own generations is authorized here.

pub mod payer;
pub mod person_access;

use self::person_access::PersonAccess;
use crate::application::core::Core;
use crate::application::core::audit_context::AuditContext;
use crate::application::error::{Error, ErrorKind};
use tintype_storage::domain::account::Account;
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::person::{Person, Role};

#[derive(Clone, Debug)]
pub enum Caller {
    /// An API key sees its account and changes only its jobs.
    ApiKey(AccountId),
    /// A signed-in person sees their account. Owners may also change it.
    Person { person: Person, audit: AuditContext },
    /// The operator, or the service itself.
    Operator {
        audit: AuditContext,
        /// Restricts the call to one account; `None`: all.
        within: Option<AccountId>,
    },
}

impl Caller {
    pub fn service() -> Self {
        Self::operator(AuditContext::service())
    }

    pub fn operator(audit: AuditContext) -> Self {
        Self::Operator {
            audit,
            within: None,
        }
    }

    /// Restricts an operator to this account.
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

    /// May the caller see the account and its records? If not, the service answers that they do not exist.
    pub fn sees(&self, account: AccountId) -> bool {
        match self {
            Self::ApiKey(own) => *own == account,
            Self::Person { person, .. } => person.account == account,
            Self::Operator { within, .. } => within.is_none_or(|it| it == account),
        }
    }

    /// Permits an operator's action and returns its audit context.
    pub fn require_operator(&self) -> Result<&AuditContext, Error> {
        match self {
            Self::Operator { audit, .. } => Ok(audit),
            Self::ApiKey(_) | Self::Person { .. } => {
                Err(forbidden("only the operator may do this"))
            }
        }
    }

    /// Permits a change in an account and returns its audit context.
    pub fn authorize_change(&self, account: &Account) -> Result<&AuditContext, Error> {
        match self {
            Self::Operator { audit, .. } => Ok(audit),
            Self::Person { person, .. } if person.role != Role::Owner => {
                let detail = "you have read-only access to this account; ask one of its owners to make the change";
                Err(forbidden(detail))
            }
            Self::Person { audit, .. } => check_active(account).map(|()| audit),
            Self::ApiKey(_) => Err(forbidden("an API key cannot change this")),
        }
    }

    /// [`Self::authorize_change`] by account id. Reads the person's record again, so that a call that arrived slowly changes nothing
    /// after the person has lost the access.
    pub async fn reauthorize_change(
        &self,
        core: &Core,
        account: AccountId,
    ) -> Result<&AuditContext, Error> {
        if let Self::Operator { audit, .. } = self {
            return Ok(audit);
        }
        if let Self::Person { person, .. } = self {
            PersonAccess::of(person).check(core).await?;
        }
        let gone = || forbidden("the account no longer exists");
        self.authorize_change(&core.store.account(account).await?.ok_or_else(gone)?)
    }

    /// Permits a change of a job in a visible account, and returns the context of its audit entry. API keys cause no entry.
    pub async fn authorize_job_change(
        &self,
        core: &Core,
        account: AccountId,
    ) -> Result<Option<&AuditContext>, Error> {
        match self {
            Self::ApiKey(_) => Ok(None),
            Self::Person { .. } | Self::Operator { .. } => {
                self.reauthorize_change(core, account).await.map(Some)
            }
        }
    }
}

/// Refuses changes in an account that the operator has deactivated.
pub fn check_active(account: &Account) -> Result<(), Error> {
    match account.active {
        true => Ok(()),
        false => Err(forbidden(
            "this account is deactivated: you can view it, but not change it or generate images",
        )),
    }
}

fn forbidden(detail: &str) -> Error {
    Error::new(ErrorKind::Forbidden, detail)
}
