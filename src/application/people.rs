//! People of an account, who sign in to the panel: invited, changed, signed out and removed.

use super::audit_context::{AuditContext, Subject, to_audit_entry};
use super::caller::Caller;
use super::commit::{Change, Turn};
use super::error::Error;
use super::state::AppState;
use super::tokens;
use serde_json::{Value, json};
use std::time::Duration;
use tintype_storage::domain::audit_log::{Action, AuditEntry};
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::person::{Email, Invitation, Person, PersonId, Role};

/// People that the owners of an account can invite to it. The operator can invite more.
const MAX_PEOPLE: usize = 100;
/// How long an invitation is good.
const INVITATION: Duration = Duration::from_secs(7 * 86_400);

/// A person, and the text of the link with which they choose a password. Only a hash of it is kept.
pub struct Invited {
    pub person: Person,
    pub token: String,
}

/// One text for an unknown id and for no id at all.
pub fn no_person() -> Error {
    Error::not_found("there is no such person")
}

/// A person of an account that the caller sees.
///
/// # Errors
/// `NotFound`
pub async fn find(
    state: &AppState,
    caller: &Caller,
    account: AccountId,
    id: PersonId,
) -> Result<Person, Error> {
    let found = match caller.sees(account) {
        true => state.store.person(account, id).await?,
        false => None,
    };
    found.ok_or_else(no_person)
}

/// Refuses one more person of an account.
async fn check_room(state: &AppState, account: AccountId) -> Result<(), Error> {
    let people = state.store.people_of(account, MAX_PEOPLE, None).await?;
    if people.items.len() < MAX_PEOPLE {
        return Ok(());
    }
    let detail = format!("this account has {MAX_PEOPLE} people; ask the operator to invite more");
    Err(Error::conflict(detail))
}

/// Who stands in the audit log with a new link for a person, or with their removal. Owners have a say only over those who have not
/// joined yet: with a link of one who has, they could sign in as that person.
async fn may_withdraw<'a>(
    state: &AppState,
    caller: &'a Caller,
    person: &Person,
) -> Result<&'a AuditContext, Error> {
    // The sessions of one whose password was revoked have ended, which counts.
    match person.password.is_none() && person.generation == 0 {
        true => caller.change(state, person.account).await,
        false => caller.operate(),
    }
}

/// Invites a person to an account: the operator, or an owner of the account.
pub async fn invite(
    state: &AppState,
    caller: &Caller,
    account: AccountId,
    email: Email,
    role: Role,
) -> Result<Invited, Error> {
    let context = caller.change(state, account).await?;
    let turn = state.people.take().await?;
    if !caller.is_operator() {
        check_room(state, account).await?;
    }
    if state.store.person_by_email(&email).await?.is_some() {
        return Err(Error::conflict(
            "somebody with this e-mail address has been invited already",
        ));
    }
    let now = state.now();
    let id = PersonId(state.system.accounts().context().ids.next(now));
    let (token, secret) = tokens::invitation(account, id);
    let person = Person {
        id,
        account,
        email,
        role,
        password: None,
        invitation: Some(Invitation {
            secret,
            expires_at: now.plus(INVITATION),
        }),
        generation: 0,
        created_at: now,
    };
    let entry = entry(state, context, Action::PersonInvite, &person);
    put(state, turn, entry, None, &person).await?;
    Ok(Invited { person, token })
}

/// Gives a person a new link, with which they choose a password. `revoke` ends the password that they have, and their sessions,
/// at once.
pub async fn invite_again(
    state: &AppState,
    caller: &Caller,
    account: AccountId,
    id: PersonId,
    revoke: bool,
) -> Result<Invited, Error> {
    let turn = state.people.take().await?;
    let before = find(state, caller, account, id).await?;
    let context = may_withdraw(state, caller, &before).await?;
    let (token, secret) = tokens::invitation(account, id);
    let invited = Person {
        invitation: Some(Invitation {
            secret,
            expires_at: state.now().plus(INVITATION),
        }),
        ..before.clone()
    };
    let person = match revoke {
        true => Person {
            password: None,
            ..signed_out(invited)
        },
        false => invited,
    };
    let entry = entry(state, context, Action::PersonInviteAgain, &person);
    put(state, turn, entry, Some(&before), &person).await?;
    Ok(Invited { person, token })
}

/// Gives a person another role. What changes nothing is not written.
pub async fn change_role(
    state: &AppState,
    caller: &Caller,
    account: AccountId,
    id: PersonId,
    role: Role,
) -> Result<Person, Error> {
    let context = caller.operate()?;
    let turn = state.people.take().await?;
    let before = find(state, caller, account, id).await?;
    let person = Person {
        role,
        ..before.clone()
    };
    if person != before {
        let entry = entry(state, context, Action::PersonChange, &person);
        put(state, turn, entry, Some(&before), &person).await?;
    }
    Ok(person)
}

/// Removes a person. Their sessions are over at once.
pub async fn remove(
    state: &AppState,
    caller: &Caller,
    account: AccountId,
    id: PersonId,
) -> Result<(), Error> {
    let turn = state.people.take().await?;
    let person = find(state, caller, account, id).await?;
    let context = may_withdraw(state, caller, &person).await?;
    let entry = entry(state, context, Action::PersonRemove, &person);
    let entry = to_audit_entry(entry, Some(facts(&person)), None);
    let mut writes = state.store.remove_person(&person);
    writes.push(state.store.add_audit(&entry));
    Ok(state.commit(Change::in_turn(turn, writes)).await?)
}

/// Ends all sessions of a person, who can sign in again.
pub async fn sign_out(
    state: &AppState,
    caller: &Caller,
    account: AccountId,
    id: PersonId,
) -> Result<(), Error> {
    let context = caller.operate()?;
    let turn = state.people.take().await?;
    let before = find(state, caller, account, id).await?;
    let person = signed_out(before.clone());
    let entry = entry(state, context, Action::SessionEndAll, &person);
    let generation = |it: &Person| Some(json!({"generation": it.generation}));
    let entry = to_audit_entry(entry, generation(&before), generation(&person));
    let mut writes = state.store.put_person(&person);
    writes.push(state.store.add_audit(&entry));
    Ok(state.commit(Change::in_turn(turn, writes)).await?)
}

/// The person with all sessions over.
pub fn signed_out(person: Person) -> Person {
    Person {
        generation: person.generation.wrapping_add(1),
        ..person
    }
}

/// What the audit log says of a person: neither password nor link.
pub fn facts(person: &Person) -> Value {
    json!({
        "email": person.email.as_str(),
        "role": person.role.word(),
        "has_password": person.password.is_some(),
        "invitation_expires_at": person.invitation.map(|it| it.expires_at.to_string()),
    })
}

/// A line of the audit log about a person.
pub fn entry(
    state: &AppState,
    context: &AuditContext,
    action: Action,
    person: &Person,
) -> AuditEntry {
    let subject = Subject {
        account: Some(person.account),
        id: Some(person.id.0),
    };
    context.line(state, action, subject)
}

/// Writes a changed person with the line that says so.
async fn put(
    state: &AppState,
    turn: Turn,
    entry: AuditEntry,
    before: Option<&Person>,
    after: &Person,
) -> Result<(), Error> {
    let entry = to_audit_entry(entry, before.map(facts), Some(facts(after)));
    let mut writes = state.store.put_person(after);
    writes.push(state.store.add_audit(&entry));
    Ok(state.commit(Change::in_turn(turn, writes)).await?)
}
