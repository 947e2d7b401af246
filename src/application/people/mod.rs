//! Invites, changes, signs out and removes the people of an account, who sign in to the panel.

pub(crate) mod invitation_links;
pub(crate) mod password_change;
pub(crate) mod sessions;
pub(crate) mod sign_in;

use crate::application::caller::Caller;
use crate::application::core::Core;
use crate::application::core::audit_context::{AuditContext, Subject};
use crate::application::core::commit::Change;
use crate::application::credentials::tokens;
use crate::application::error::Error;
use serde_json::{Value, json};
use std::time::Duration;
use tintype_storage::domain::audit_log::Action;
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::person::{Email, Invitation, Person, PersonId, Role};
use tintype_storage::store::Writes;
use tintype_storage::store::tables::PEOPLE;

/// Limit for the owners of an account. The operator can invite more.
const MAX_PEOPLE: usize = 100;
const INVITATION_LIFETIME: Duration = Duration::from_secs(7 * 86_400);

/// `token` is the secret of the link with which the person chooses a password. Only its hash is stored.
pub struct NewInvitation {
    pub person: Person,
    pub token: String,
}

/// The same text for an unknown id and for a malformed id.
pub fn no_person() -> Error {
    Error::not_found("there is no such person")
}

/// Finds a person in an account that is visible to the caller.
pub async fn find(
    core: &Core,
    caller: &Caller,
    account: AccountId,
    id: PersonId,
) -> Result<Person, Error> {
    let found = match caller.sees(account) {
        true => PEOPLE.get(&core.store, &(account, id)).await?,
        false => None,
    };
    found.ok_or_else(no_person)
}

async fn check_people_limit(core: &Core, account: AccountId) -> Result<(), Error> {
    let people = PEOPLE.page(&core.store, &account, MAX_PEOPLE, None).await?;
    if people.items.len() < MAX_PEOPLE {
        return Ok(());
    }
    let detail = format!("this account has {MAX_PEOPLE} people; ask the operator to invite more");
    Err(Error::conflict(detail))
}

/// Permits a new link for a person, or their removal, and returns the audit context. Owners may do so only before the person has
/// joined: with a new link of a member, an owner could sign in as that person.
async fn permit_withdrawal<'a>(
    core: &Core,
    caller: &'a Caller,
    person: &Person,
) -> Result<&'a AuditContext, Error> {
    // A person who joined and whose password was revoked has a generation above 0.
    match person.password.is_none() && person.generation == 0 {
        true => caller.reauthorize_change(core, person.account).await,
        false => caller.require_operator(),
    }
}

/// Invites a person to an account: the operator, or an owner of the account.
pub async fn invite(
    core: &Core,
    caller: &Caller,
    account: AccountId,
    email: Email,
    role: Role,
) -> Result<NewInvitation, Error> {
    let guard = core.locks.people.lock().await?;
    let context = caller.reauthorize_change(core, account).await?;
    if !caller.is_operator() {
        check_people_limit(core, account).await?;
    }
    if let Some(other) = core.store.person_by_email(&email).await? {
        return Err(Error::conflict(if other.account == account {
            "this account already has a person with this email address; send them a new link instead"
        } else if caller.is_operator() {
            "a person of another account has this email address, and an address belongs to one account; invite another address, \
             such as ada+studio@example.com, or remove the person there first"
        } else {
            // People of an account must not learn who the people of other accounts are.
            "this email address cannot be invited; ask the operator"
        }));
    }
    let now = core.now();
    let id = PersonId(core.new_id(now));
    let (token, secret) = tokens::invitation(account, id);
    let person = Person {
        id,
        account,
        email,
        role,
        password: None,
        invitation: Some(Invitation {
            secret,
            expires_at: now.plus(INVITATION_LIFETIME),
        }),
        generation: 0,
        created_at: now,
    };
    let writes = changed(core, context, Action::PersonInvite, None, &person);
    core.commit(Change::under_lock(guard, writes)).await?;
    Ok(NewInvitation { person, token })
}

/// Issues a new link with which a person chooses a password. `revoke` also invalidates their password and sessions at once.
pub async fn invite_again(
    core: &Core,
    caller: &Caller,
    account: AccountId,
    id: PersonId,
    revoke: bool,
) -> Result<NewInvitation, Error> {
    let guard = core.locks.people.lock().await?;
    let before = find(core, caller, account, id).await?;
    let context = permit_withdrawal(core, caller, &before).await?;
    let (token, secret) = tokens::invitation(account, id);
    let invited = Person {
        invitation: Some(Invitation {
            secret,
            expires_at: core.now().plus(INVITATION_LIFETIME),
        }),
        ..before.clone()
    };
    let person = match revoke {
        true => Person {
            password: None,
            ..sign_out_all(invited)
        },
        false => invited,
    };
    let writes = changed(
        core,
        context,
        Action::PersonInviteAgain,
        Some(&before),
        &person,
    );
    core.commit(Change::under_lock(guard, writes)).await?;
    Ok(NewInvitation { person, token })
}

/// Changes the role of a person. Writes nothing if nothing changes.
pub async fn change_role(
    core: &Core,
    caller: &Caller,
    account: AccountId,
    id: PersonId,
    role: Role,
) -> Result<Person, Error> {
    let context = caller.require_operator()?;
    let guard = core.locks.people.lock().await?;
    let before = find(core, caller, account, id).await?;
    let person = Person {
        role,
        ..before.clone()
    };
    if person != before {
        let writes = changed(core, context, Action::PersonChange, Some(&before), &person);
        core.commit(Change::under_lock(guard, writes)).await?;
    }
    Ok(person)
}

/// Removes a person and ends their sessions at once.
pub async fn remove(
    core: &Core,
    caller: &Caller,
    account: AccountId,
    id: PersonId,
) -> Result<(), Error> {
    let guard = core.locks.people.lock().await?;
    let person = find(core, caller, account, id).await?;
    let context = permit_withdrawal(core, caller, &person).await?;
    let (subject, facts) = (subject(&person), Some(facts(&person)));
    let mut writes = core.store.remove_person(&person);
    writes.push(context.record(core, Action::PersonRemove, subject, facts, None));
    Ok(core.commit(Change::under_lock(guard, writes)).await?)
}

/// Ends all sessions of a person, who can then sign in again.
pub async fn sign_out(
    core: &Core,
    caller: &Caller,
    account: AccountId,
    id: PersonId,
) -> Result<(), Error> {
    let context = caller.require_operator()?;
    let guard = core.locks.people.lock().await?;
    let before = find(core, caller, account, id).await?;
    let person = sign_out_all(before.clone());
    let [was, is] = [&before, &person].map(|it| Some(json!({"generation": it.generation})));
    let mut writes = core.store.put_person(&person);
    writes.push(context.record(core, Action::SessionEndAll, subject(&person), was, is));
    Ok(core.commit(Change::under_lock(guard, writes)).await?)
}

/// Invalidates all sessions of a person.
pub fn sign_out_all(person: Person) -> Person {
    Person {
        generation: person.generation.wrapping_add(1),
        ..person
    }
}

/// The fields of a person that the audit log records: never the password or the link.
fn facts(person: &Person) -> Value {
    json!({
        "email": person.email.as_str(),
        "role": person.role.as_str(),
        "has_password": person.password.is_some(),
        "invitation_expires_at": person.invitation.map(|it| it.expires_at.to_string()),
    })
}

fn subject(person: &Person) -> Subject {
    Subject::of(person.account, person.id.0)
}

/// The writes of a changed person, with the audit entry.
pub fn changed(
    core: &Core,
    context: &AuditContext,
    action: Action,
    before: Option<&Person>,
    after: &Person,
) -> Writes {
    let (was, is) = (before.map(facts), Some(facts(after)));
    let mut writes = core.store.put_person(after);
    writes.push(context.record(core, action, subject(after), was, is));
    writes
}
