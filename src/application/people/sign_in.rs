//! Verifies credentials: the operator's token, a person's email address and password, and invitations, the one-time links with which
//! people choose their passwords.
//!
//! Failures are logged and delayed, and never block later attempts, so an attacker cannot lock a person out. See
//! [`crate::application::credentials::auth_throttle`].

use super::sessions::{self, NewSession, User};
use crate::application::core::Core;
use crate::application::core::audit_context::AuditContext;
use crate::application::core::call_origin::CallOrigin;
use crate::application::credentials::passwords;
use crate::application::credentials::tokens;
use crate::application::error::{Error, ErrorKind};
use crate::application::people;
use crate::application::services::AccountService;
use tintype_storage::domain::audit_log::{Action, Actor};
use tintype_storage::domain::person::{Email, Person};
use tintype_storage::store::Writes;
use tintype_storage::store::tables::PEOPLE;

/// The same text for an unknown person and a wrong password.
fn wrong_password() -> Error {
    let detail = "the email address or the password is wrong";
    Error::new(ErrorKind::Unauthorized, detail)
}

/// Records a failed attempt, waits for the throttle's delay and returns the error.
async fn after_delay(
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
    Err(after_delay(accounts, "operator token", origin, None, error).await)
}

/// Compares hashes, so that the time of the comparison reveals nothing about the token.
fn is_admin_token(accounts: &AccountService, token: &str) -> bool {
    tokens::digest(token.as_bytes()).0 == accounts.auth.admin_token
}

pub async fn operator(
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

pub async fn person(
    accounts: &AccountService,
    origin: &CallOrigin,
    email: &str,
    password: String,
) -> Result<NewSession, Error> {
    let core = &accounts.core;
    let what = "sign-in";
    let Ok(email) = email.parse::<Email>() else {
        return Err(after_delay(accounts, what, origin, None, wrong_password()).await);
    };
    let hash = core.store.person_by_email(&email).await?;
    let hash = hash.and_then(|it| it.password);
    let verified = accounts
        .auth
        .passwords
        .verify(origin, password, hash.clone());
    if !verified.await? {
        return Err(after_delay(accounts, what, origin, Some(&email), wrong_password()).await);
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

/// Changes a person's password and ends all their other sessions.
pub async fn change_password(
    accounts: &AccountService,
    origin: &CallOrigin,
    person: Person,
    current: String,
    password: String,
) -> Result<NewSession, Error> {
    let core = &accounts.core;
    passwords::check_new(&password)?;
    let stored = person.password.clone();
    let verified = accounts
        .auth
        .passwords
        .verify(origin, current, stored.clone());
    if !verified.await? {
        let error = Error::field("current_password", "is wrong");
        let email = Some(&person.email);
        return Err(after_delay(accounts, "password change", origin, email, error).await);
    }
    let hash = accounts.auth.passwords.hash(origin, password).await?;
    let guard = core.locks.people.lock().await?;
    let id = (person.account, person.id);
    let found = PEOPLE.get(&core.store, &id).await?;
    let before = found.filter(|it| it.password == stored);
    let before = before.ok_or_else(wrong_password)?;
    let person = before.clone().with_password(hash);
    let context = AuditContext::new(Actor::Person(person.id.0), origin);
    let action = Action::PersonChangePassword;
    let writes = people::changed(core, &context, action, Some(&before), &person);
    sessions::begin(accounts, guard, User::Person(person), None, writes).await
}

fn invalid_invitation() -> Error {
    let detail = "this invitation has been used or has expired; ask for a new one";
    Error::new(ErrorKind::Gone, detail)
}

async fn find_invited(core: &Core, token: &str) -> Result<Person, Error> {
    let (account, person, secret) =
        tokens::read_invitation(token).ok_or_else(invalid_invitation)?;
    let person = PEOPLE.get(&core.store, &(account, person)).await?;
    let good = person.filter(|it| it.admits(&secret, core.now()));
    good.ok_or_else(invalid_invitation)
}

/// Finds the invited person. Records a failed attempt if the link is invalid.
pub async fn invited_person(
    accounts: &AccountService,
    origin: &CallOrigin,
    token: &str,
) -> Result<Person, Error> {
    match find_invited(&accounts.core, token).await {
        Err(error) if error.kind == ErrorKind::Gone => {
            Err(after_delay(accounts, "invitation", origin, None, error).await)
        }
        found => found,
    }
}

/// Sets the password and signs the person in.
pub async fn accept_invitation(
    accounts: &AccountService,
    origin: &CallOrigin,
    token: &str,
    password: String,
) -> Result<NewSession, Error> {
    let core = &accounts.core;
    invited_person(accounts, origin, token).await?;
    passwords::check_new(&password)?;
    let hash = accounts.auth.passwords.hash(origin, password).await?;
    let guard = core.locks.people.lock().await?;
    // Read again under the lock: two callers may use the link at the same time.
    let before = find_invited(core, token).await?;
    let person = before.clone().with_password(hash);
    let context = AuditContext::new(Actor::Person(person.id.0), origin);
    let writes = people::changed(core, &context, Action::PersonJoin, Some(&before), &person);
    let user = User::Person(person);
    sessions::begin(accounts, guard, user, Some(&context), writes).await
}
