//! Accepts invitations: the one-time links with which people choose their passwords.

use super::sessions::{self, NewSession, User};
use super::sign_in::record_failure_and_delay;
use crate::application::core::Core;
use crate::application::core::audit_context::AuditContext;
use crate::application::core::call_origin::CallOrigin;
use crate::application::credentials::{passwords, tokens};
use crate::application::error::{Error, ErrorKind};
use crate::application::people;
use crate::application::services::AccountService;
use tintype_storage::domain::audit_log::{Action, Actor};
use tintype_storage::domain::person::Person;
use tintype_storage::store::tables::PEOPLE;

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
            Err(record_failure_and_delay(accounts, "invitation", origin, None, error).await)
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
