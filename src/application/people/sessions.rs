//! Sessions of people and of the operator. The audit log gets an entry, in the same commit, when a session begins or ends, but not when
//! it is used.

use crate::application::core::Core;
use crate::application::core::audit_context::{AuditContext, Subject};
use crate::application::core::change_lock::ChangeGuard;
use crate::application::core::commit::Change;
use crate::application::credentials::tokens;
use crate::application::error::Error;
use crate::application::people;
use crate::application::services::AccountService;
use serde_json::json;
use std::sync::Arc;
use tintype_storage::domain::audit_log::{Action, Actor};
use tintype_storage::domain::person::{Digest32, Person, Session, Visitor};
use tintype_storage::store::tables::{OPERATOR_SESSIONS, PEOPLE, SESSIONS};
use tintype_storage::store::{Generation, StoreError, Writes};

pub enum User {
    Operator,
    /// The current record of the person.
    Person(Person),
}

impl User {
    pub fn actor(&self) -> Actor {
        match self {
            Self::Operator => Actor::Operator,
            Self::Person(person) => Actor::Person(person.id.0),
        }
    }

    /// The subject of audit entries about their sessions: the person, or none for the operator.
    fn subject(&self) -> Subject {
        match self {
            Self::Operator => Subject::default(),
            Self::Person(person) => Subject::of(person.account, person.id.0),
        }
    }
}

pub struct SignedIn {
    /// The key of the session's record.
    pub id: Digest32,
    pub session: Session,
    pub user: User,
}

pub struct NewSession {
    /// The cookie value of the browser. Only its hash is stored.
    pub id: String,
    pub user: User,
}

/// Finds a session and its current owner; `None` if the session has ended.
pub async fn resolve(
    accounts: &AccountService,
    id: Digest32,
) -> Result<Option<SignedIn>, StoreError> {
    let core = &accounts.core;
    let Some(session) = SESSIONS.get(&core.store, &id).await? else {
        return Ok(None);
    };
    if !session.is_alive(core.now()) {
        return Ok(None);
    }
    let (user, generation) = match session.visitor {
        Visitor::Operator(token) if token.0 == accounts.auth.admin_token => {
            (User::Operator, operator_generation(core).await?)
        }
        Visitor::Operator(_) => return Ok(None),
        Visitor::Person(account, person) => {
            let found = PEOPLE.get(&core.store, &(account, person)).await?;
            let Some(person) = found else { return Ok(None) };
            let generation = person.generation;
            (User::Person(person), generation)
        }
    };
    let current = generation == session.generation;
    Ok(current.then_some(SignedIn { id, session, user }))
}

async fn operator_generation(core: &Core) -> Result<u32, StoreError> {
    let generation = OPERATOR_SESSIONS.get(&core.store, &()).await?;
    Ok(generation.unwrap_or_default().0)
}

/// Begins a session in one commit with `writes`. Without a `context` the audit log gets no entry, because the visitor was already signed
/// in.
pub async fn begin(
    accounts: &AccountService,
    guard: ChangeGuard,
    user: User,
    context: Option<&AuditContext>,
    mut writes: Writes,
) -> Result<NewSession, Error> {
    let core = &accounts.core;
    let now = core.now();
    let (visitor, generation) = match &user {
        User::Operator => {
            let visitor = Visitor::Operator(Digest32(accounts.auth.admin_token));
            (visitor, operator_generation(core).await?)
        }
        User::Person(person) => {
            let visitor = Visitor::Person(person.account, person.id);
            (visitor, person.generation)
        }
    };
    let session = Session {
        visitor,
        generation,
        created_at: now,
        seen_at: now,
    };
    let id = tokens::session_id();
    let digest = tokens::digest(id.as_bytes());
    writes.push(SESSIONS.put(&digest, &session));
    if let Some(context) = context {
        let ends = Some(json!({"expires_at": now.plus(Session::LIFETIME).to_string()}));
        writes.push(context.record(core, Action::SessionBegin, user.subject(), None, ends));
    }
    core.commit(Change::under_lock(guard, writes)).await?;
    Ok(NewSession { id, user })
}

pub async fn end(core: &Core, context: &AuditContext, visitor: &SignedIn) -> Result<(), Error> {
    let guard = core.locks.people.lock().await?;
    let mut writes = vec![SESSIONS.delete(&visitor.id)];
    let began = Some(json!({"created_at": visitor.session.created_at.to_string()}));
    let subject = visitor.user.subject();
    writes.push(context.record(core, Action::SessionEnd, subject, began, None));
    Ok(core.commit(Change::under_lock(guard, writes)).await?)
}

pub async fn end_all(core: &Core, context: &AuditContext, visitor: &SignedIn) -> Result<(), Error> {
    let guard = core.locks.people.lock().await?;
    let (mut writes, current) = match &visitor.user {
        User::Operator => {
            let current = operator_generation(core).await?;
            let next = Generation(current.wrapping_add(1));
            (vec![OPERATOR_SESSIONS.put(&(), &next)], current)
        }
        User::Person(person) => {
            // Read again under the lock: the person may have changed since the session was read.
            let id = (person.account, person.id);
            let found = PEOPLE.get(&core.store, &id).await?;
            let person = found.ok_or_else(people::no_person)?;
            let current = person.generation;
            let writes = core.store.put_person(&people::sign_out_all(person));
            (writes, current)
        }
    };
    writes.push(SESSIONS.delete(&visitor.id));
    let generation = |it: u32| Some(json!({"generation": it}));
    let [was, is] = [current, current.wrapping_add(1)].map(generation);
    let subject = visitor.user.subject();
    writes.push(context.record(core, Action::SessionEndAll, subject, was, is));
    Ok(core.commit(Change::under_lock(guard, writes)).await?)
}

/// Records that a session is in use, unless it has ended meanwhile.
pub async fn record_use(core: Arc<Core>, id: Digest32) {
    // The next call of the session tries again.
    let Ok(guard) = core.locks.people.lock().await else {
        return;
    };
    let now = core.now();
    if let Ok(Some(session)) = SESSIONS.get(&core.store, &id).await
        && session.is_alive(now)
        // One of the parallel calls of a page is enough.
        && session.is_stale(now)
    {
        let used = Session {
            seen_at: now,
            ..session
        };
        // A storage failure stops the process.
        let writes = vec![SESSIONS.put(&id, &used)];
        let _ = core.commit(Change::under_lock(guard, writes)).await;
    }
}
