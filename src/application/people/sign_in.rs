//! Verifies the operator's token, or a person's email address and password, and begins a session.
//!
//! Failures are logged and delayed, and never block later attempts, so an attacker cannot lock a person out. See
//! [`crate::application::credentials::auth_throttle`].

use super::sessions::{self, NewSession, User};
use crate::application::core::audit_context::AuditContext;
use crate::application::core::call_origin::CallOrigin;
use crate::application::credentials::tokens;
use crate::application::error::{Error, ErrorKind};
use crate::application::services::AccountService;
use tintype_storage::domain::audit_log::Actor;
use tintype_storage::domain::person::Email;
use tintype_storage::store::Writes;

/// The same text for an unknown person and a wrong password.
pub fn wrong_password() -> Error {
    let detail = "the email address or the password is wrong";
    Error::new(ErrorKind::Unauthorized, detail)
}

/// Records a failed attempt, waits for the throttle's delay and returns the error.
pub async fn record_failure_and_delay(
    accounts: &AccountService,
    what: &'static str,
    origin: &CallOrigin,
    email: Option<&Email>,
    error: Error,
) -> Error {
    let throttle = &accounts.auth.throttle;
    throttle
        .record_failure(what, origin, email, &accounts.core.stopping)
        .await;
    error
}

/// Refuses every token but the operator's.
///
/// # Errors
/// `Unauthorized`, delayed after many failures
pub async fn check_admin_token(
    accounts: &AccountService,
    origin: &CallOrigin,
    token: &str,
    detail: &str,
) -> Result<(), Error> {
    if is_admin_token(accounts, token) {
        return Ok(());
    }
    let error = Error::new(ErrorKind::Unauthorized, detail);
    Err(record_failure_and_delay(accounts, "operator token", origin, None, error).await)
}

/// Compares hashes, so that the time of the comparison reveals nothing about the token.
fn is_admin_token(accounts: &AccountService, token: &str) -> bool {
    tokens::digest(token.as_bytes()).0 == accounts.auth.admin_token
}

pub async fn sign_in_operator(
    accounts: &AccountService,
    origin: &CallOrigin,
    token: &str,
) -> Result<NewSession, Error> {
    let token = token.trim();
    let wrong = "the operator token is not valid; it is in the file admin-token of the data directory, unless the configuration sets it";
    check_admin_token(accounts, origin, token, wrong).await?;
    let guard = accounts.core.locks.people.lock().await?;
    let context = AuditContext::new(Actor::Operator, origin);
    sessions::begin(
        accounts,
        guard,
        User::Operator,
        Some(&context),
        Writes::new(),
    )
    .await
}

pub async fn sign_in_person(
    accounts: &AccountService,
    origin: &CallOrigin,
    email: &str,
    password: String,
) -> Result<NewSession, Error> {
    let core = &accounts.core;
    let what = "sign-in";
    let Ok(email) = email.parse::<Email>() else {
        return Err(record_failure_and_delay(accounts, what, origin, None, wrong_password()).await);
    };
    let hash = core.store.person_by_email(&email).await?;
    let hash = hash.and_then(|it| it.password);
    let verified = accounts
        .auth
        .passwords
        .verify(origin, password, hash.clone());
    if !verified.await? {
        return Err(record_failure_and_delay(
            accounts,
            what,
            origin,
            Some(&email),
            wrong_password(),
        )
        .await);
    }
    let guard = core.locks.people.lock().await?;
    // Read again under the lock: the person may have been removed, or have a new password.
    let person = core.store.person_by_email(&email).await?;
    let person = person.filter(|it| it.password == hash);
    let person = person.ok_or_else(wrong_password)?;
    let context = AuditContext::new(Actor::Person(person.id.0), origin);
    let user = User::Person(person);
    sessions::begin(accounts, guard, user, Some(&context), Writes::new()).await
}
