//! Credentials: the operator's token, and a person's e-mail address and password.
//!
//! Failures are logged and slowed down, never refused, so a guesser cannot lock a person out. See [`super::auth_throttle`].

use super::audit_context::{AuditContext, to_audit_entry};
use super::call_origin::CallOrigin;
use super::error::{Error, ErrorKind};
use super::people;
use super::sessions::{self, NewSession, Who};
use super::state::AppState;
use super::{passwords, tokens};
use tintype_storage::domain::audit_log::{Action, Actor};
use tintype_storage::domain::person::{Email, Person};
use tintype_storage::store::Writes;

/// One text for an unknown person and a wrong password.
fn wrong_password() -> Error {
    let detail = "the e-mail address or the password is wrong";
    Error::new(ErrorKind::Unauthorized, detail)
}

/// Tells of a failed attempt, once it may be told.
async fn refused(
    state: &AppState,
    what: &'static str,
    origin: &CallOrigin,
    email: Option<&Email>,
    error: Error,
) -> Error {
    let throttle = &state.auth.throttle;
    throttle
        .record_failure(what, origin, email, &state.stopping)
        .await;
    error
}

/// Refuses every token but the operator's.
///
/// # Errors
/// `Unauthorized`, after a delay where there were many failures.
pub async fn check_admin_token(
    state: &AppState,
    origin: &CallOrigin,
    token: &str,
    detail: &str,
) -> Result<(), Error> {
    if is_admin_token(state, token) {
        return Ok(());
    }
    let error = Error::new(ErrorKind::Unauthorized, detail);
    Err(refused(state, "admin token", origin, None, error).await)
}

/// Hashes are compared: how long that takes says nothing about the token.
fn is_admin_token(state: &AppState, token: &str) -> bool {
    tokens::digest(token.as_bytes()).0 == state.auth.admin_token
}

/// Begins a session of the operator.
pub async fn operator(
    state: &AppState,
    origin: &CallOrigin,
    token: &str,
) -> Result<NewSession, Error> {
    let token = token.trim();
    let wrong = "the admin token is not valid; it is in the file admin-token of the data directory, unless the configuration sets it";
    check_admin_token(state, origin, token, wrong).await?;
    let turn = state.people.take().await?;
    let context = AuditContext::new(Actor::Operator, origin);
    sessions::begin(state, turn, Who::Operator, Some(&context), Writes::new()).await
}

/// Begins a session of a person.
pub async fn person(
    state: &AppState,
    origin: &CallOrigin,
    email: &str,
    password: String,
) -> Result<NewSession, Error> {
    let what = "sign-in";
    let Ok(email) = email.parse::<Email>() else {
        return Err(refused(state, what, origin, None, wrong_password()).await);
    };
    let hash = state.store.person_by_email(&email).await?;
    let hash = hash.and_then(|it| it.password);
    let verified = state.auth.passwords.verify(origin, password, hash.clone());
    if !verified.await? {
        return Err(refused(state, what, origin, Some(&email), wrong_password()).await);
    }
    let turn = state.people.take().await?;
    // Once more: the person may have been removed, or have another password, since it was looked at.
    let person = state.store.person_by_email(&email).await?;
    let person = person.filter(|it| it.password == hash);
    let person = person.ok_or_else(wrong_password)?;
    let context = AuditContext::new(Actor::Person(person.id.0), origin);
    let who = Who::Person(person);
    sessions::begin(state, turn, who, Some(&context), Writes::new()).await
}

/// Gives a person the password that they choose, which ends all other sessions.
pub async fn change_password(
    state: &AppState,
    origin: &CallOrigin,
    person: Person,
    current: String,
    password: String,
) -> Result<NewSession, Error> {
    passwords::check_new(&password)?;
    let kept = person.password.clone();
    let verified = state.auth.passwords.verify(origin, current, kept.clone());
    if !verified.await? {
        let error = Error::field("current_password", "is wrong");
        let email = Some(&person.email);
        return Err(refused(state, "password change", origin, email, error).await);
    }
    let hash = state.auth.passwords.hash(origin, password).await?;
    let turn = state.people.take().await?;
    let found = state.store.person(person.account, person.id).await?;
    let before = found.filter(|it| it.password == kept);
    let before = before.ok_or_else(wrong_password)?;
    let person = before.clone().with_password(hash);
    let context = AuditContext::new(Actor::Person(person.id.0), origin);
    let line = people::entry(state, &context, Action::PersonChangePassword, &person);
    let [before, after] = [&before, &person].map(people::facts);
    let line = to_audit_entry(line, Some(before), Some(after));
    let mut writes = state.store.put_person(&person);
    writes.push(state.store.add_audit(&line));
    sessions::begin(state, turn, Who::Person(person), None, writes).await
}
