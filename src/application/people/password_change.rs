//! Changes the password of a person who is signed in.

use super::sessions::{self, NewSession, User};
use super::sign_in::{record_failure_and_delay, wrong_password};
use crate::application::core::audit_context::AuditContext;
use crate::application::core::call_origin::CallOrigin;
use crate::application::credentials::passwords;
use crate::application::error::Error;
use crate::application::people;
use crate::application::services::AccountService;
use tintype_storage::domain::audit_log::{Action, Actor};
use tintype_storage::domain::person::Person;
use tintype_storage::store::tables::PEOPLE;

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
        return Err(
            record_failure_and_delay(accounts, "password change", origin, email, error).await,
        );
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
