//! Taking up an invitation: the one-time link with which a person chooses their password.

use super::audit_context::{AuditContext, to_audit_entry};
use super::call_origin::CallOrigin;
use super::error::{Error, ErrorKind};
use super::people;
use super::sessions::{self, NewSession, Who};
use super::state::AppState;
use super::{passwords, tokens};
use tintype_storage::domain::audit_log::{Action, Actor};
use tintype_storage::domain::person::Person;

fn worthless() -> Error {
    let detail = "this invitation has been used or has expired; ask for a new one";
    Error::new(ErrorKind::Gone, detail)
}

async fn find(state: &AppState, token: &str) -> Result<Person, Error> {
    let (account, person, secret) = tokens::read_invitation(token).ok_or_else(worthless)?;
    let person = state.store.person(account, person).await?;
    let good = person.filter(|it| it.admits(&secret, state.now()));
    good.ok_or_else(worthless)
}

/// Whom an invitation is for.
pub async fn look(state: &AppState, origin: &CallOrigin, token: &str) -> Result<Person, Error> {
    match find(state, token).await {
        Err(error) if error.kind == ErrorKind::Gone => {
            let throttle = &state.auth.throttle;
            throttle
                .record_failure("invitation", origin, None, &state.stopping)
                .await;
            Err(error)
        }
        found => found,
    }
}

/// Chooses the password, and signs the person in.
pub async fn accept(
    state: &AppState,
    origin: &CallOrigin,
    token: &str,
    password: String,
) -> Result<NewSession, Error> {
    look(state, origin, token).await?;
    passwords::check_new(&password)?;
    let hash = state.auth.passwords.hash(origin, password).await?;
    let turn = state.people.take().await?;
    // Once more: of two who hold the link, one is the first.
    let before = find(state, token).await?;
    let person = before.clone().with_password(hash);
    let context = AuditContext::new(Actor::Person(person.id.0), origin);
    let line = people::entry(state, &context, Action::PersonJoin, &person);
    let [was, is] = [&before, &person].map(|it| Some(people::facts(it)));
    let line = to_audit_entry(line, was, is);
    let mut writes = state.store.put_person(&person);
    writes.push(state.store.add_audit(&line));
    sessions::begin(state, turn, Who::Person(person), Some(&context), writes).await
}
