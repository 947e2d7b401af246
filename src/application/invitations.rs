//! Accepts an invitation: the one-time link with which a person chooses their password.

use super::audit_context::AuditContext;
use super::call_origin::CallOrigin;
use super::core::Core;
use super::error::{Error, ErrorKind};
use super::people;
use super::services::AccountService;
use super::sessions::{self, NewSession, User};
use super::{passwords, tokens};
use tintype_storage::domain::audit_log::{Action, Actor};
use tintype_storage::domain::person::Person;

fn invalid_invitation() -> Error {
    let detail = "this invitation has been used or has expired; ask for a new one";
    Error::new(ErrorKind::Gone, detail)
}

async fn find(core: &Core, token: &str) -> Result<Person, Error> {
    let (account, person, secret) =
        tokens::read_invitation(token).ok_or_else(invalid_invitation)?;
    let person = core.store.person(account, person).await?;
    let good = person.filter(|it| it.admits(&secret, core.now()));
    good.ok_or_else(invalid_invitation)
}

/// Finds the invited person. Records a failed attempt if the link is invalid.
pub async fn resolve(
    accounts: &AccountService,
    origin: &CallOrigin,
    token: &str,
) -> Result<Person, Error> {
    match find(&accounts.core, token).await {
        Err(error) if error.kind == ErrorKind::Gone => {
            let throttle = &accounts.auth.throttle;
            throttle
                .record_failure("invitation", origin, None, &accounts.core.stopping)
                .await;
            Err(error)
        }
        found => found,
    }
}

/// Sets the password and signs the person in.
pub async fn accept(
    accounts: &AccountService,
    origin: &CallOrigin,
    token: &str,
    password: String,
) -> Result<NewSession, Error> {
    let core = &accounts.core;
    resolve(accounts, origin, token).await?;
    passwords::check_new(&password)?;
    let hash = accounts.auth.passwords.hash(origin, password).await?;
    let guard = core.locks.people.lock().await?;
    // Read again under the lock: two callers may use the link at the same time.
    let before = find(core, token).await?;
    let person = before.clone().with_password(hash);
    let context = AuditContext::new(Actor::Person(person.id.0), origin);
    let writes = people::changed(core, &context, Action::PersonJoin, Some(&before), &person);
    let user = User::Person(person);
    sessions::begin(accounts, guard, user, Some(&context), writes).await
}
