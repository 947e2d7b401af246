//! Sessions of people and of the operator. The audit log gets an entry, in the same commit, when a session begins or ends, but not when
//! it is used.

use super::audit_context::{AuditContext, Subject, to_audit_entry};
use super::commit::{Change, ChangeGuard};
use super::error::Error;
use super::people;
use super::state::AppState;
use super::tokens;
use serde_json::json;
use std::sync::Arc;
use tintype_storage::domain::audit_log::{Action, Actor};
use tintype_storage::domain::person::{Digest32, Person, Session, Visitor};
use tintype_storage::store::{Generation, StoreError, Writes};

/// Sessions scanned per step when expired ones are deleted.
const STEP: usize = 1_000;

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
            Self::Operator => Subject {
                account: None,
                id: None,
            },
            Self::Person(person) => Subject {
                account: Some(person.account),
                id: Some(person.id.0),
            },
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
pub async fn resolve(state: &AppState, id: Digest32) -> Result<Option<SignedIn>, StoreError> {
    let Some(session) = state.store.session(&id).await? else {
        return Ok(None);
    };
    if !session.is_alive(state.now()) {
        return Ok(None);
    }
    let (user, generation) = match session.visitor {
        Visitor::Operator(token) if token.0 == state.auth.admin_token => {
            (User::Operator, state.store.operator_generation().await?.0)
        }
        Visitor::Operator(_) => return Ok(None),
        Visitor::Person(account, person) => match state.store.person(account, person).await? {
            Some(person) => {
                let generation = person.generation;
                (User::Person(person), generation)
            }
            None => return Ok(None),
        },
    };
    let current = generation == session.generation;
    Ok(current.then_some(SignedIn { id, session, user }))
}

/// Begins a session in one commit with `writes`. Without a `context` the audit log gets no entry, because the visitor was already signed
/// in.
pub async fn begin(
    state: &AppState,
    guard: ChangeGuard,
    user: User,
    context: Option<&AuditContext>,
    mut writes: Writes,
) -> Result<NewSession, Error> {
    let now = state.now();
    let (visitor, generation) = match &user {
        User::Operator => {
            let Generation(generation) = state.store.operator_generation().await?;
            (
                Visitor::Operator(Digest32(state.auth.admin_token)),
                generation,
            )
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
    writes.extend(state.store.put_session(&digest, &session));
    if let Some(context) = context {
        let entry = context.entry(state, Action::SessionBegin, user.subject());
        let ends = now.plus(Session::LIFETIME).to_string();
        let entry = to_audit_entry(entry, None, Some(json!({"expires_at": ends})));
        writes.push(state.store.add_audit(&entry));
    }
    state.commit(Change::under_lock(guard, writes)).await?;
    Ok(NewSession { id, user })
}

pub async fn end(
    state: &AppState,
    context: &AuditContext,
    visitor: &SignedIn,
) -> Result<(), Error> {
    let guard = state.people.lock().await?;
    let mut writes = state.store.remove_session(&visitor.id);
    let began = json!({"created_at": visitor.session.created_at.to_string()});
    let entry = context.entry(state, Action::SessionEnd, visitor.user.subject());
    let entry = to_audit_entry(entry, Some(began), None);
    writes.push(state.store.add_audit(&entry));
    Ok(state.commit(Change::under_lock(guard, writes)).await?)
}

pub async fn end_all(
    state: &AppState,
    context: &AuditContext,
    visitor: &SignedIn,
) -> Result<(), Error> {
    let guard = state.people.lock().await?;
    let (mut writes, current) = match &visitor.user {
        User::Operator => {
            let Generation(current) = state.store.operator_generation().await?;
            let next = Generation(current.wrapping_add(1));
            (state.store.set_operator_generation(next), current)
        }
        User::Person(person) => {
            // Read again under the lock: the person may have changed since the session was read.
            let found = state.store.person(person.account, person.id).await?;
            let person = found.ok_or_else(people::no_person)?;
            let current = person.generation;
            let writes = state.store.put_person(&people::sign_out_all(person));
            (writes, current)
        }
    };
    writes.extend(state.store.remove_session(&visitor.id));
    let entry = context.entry(state, Action::SessionEndAll, visitor.user.subject());
    let [before, after] = [current, current.wrapping_add(1)].map(|it| json!({"generation": it}));
    let entry = to_audit_entry(entry, Some(before), Some(after));
    writes.push(state.store.add_audit(&entry));
    Ok(state.commit(Change::under_lock(guard, writes)).await?)
}

/// Records that a session is in use, unless it has ended meanwhile.
pub async fn record_use(state: Arc<AppState>, id: Digest32) {
    // The next call of the session tries again.
    let Ok(guard) = state.people.lock().await else {
        return;
    };
    let now = state.now();
    if let Ok(Some(session)) = state.store.session(&id).await
        && session.is_alive(now)
        // One of the parallel calls of a page is enough.
        && session.is_stale(now)
    {
        let used = Session {
            seen_at: now,
            ..session
        };
        // A storage failure stops the process.
        let writes = state.store.put_session(&id, &used);
        let _ = state.commit(Change::under_lock(guard, writes)).await;
    }
}

/// Deletes ended sessions. Called periodically.
pub async fn forget_old(state: &AppState) {
    let mut cursor = Vec::new();
    loop {
        let guard = match state.people.lock().await {
            Ok(guard) => guard,
            Err(error) => {
                tracing::warn!(%error, "could not delete ended sessions");
                return;
            }
        };
        match state
            .store
            .forget_sessions(state.now(), &cursor, STEP)
            .await
        {
            Ok((writes, next)) => {
                if !writes.is_empty()
                    && state
                        .commit(Change::under_lock(guard, writes))
                        .await
                        .is_err()
                {
                    return;
                }
                cursor = next;
            }
            Err(error) => {
                tracing::error!(%error, "could not delete ended sessions");
                return;
            }
        }
        if cursor.is_empty() {
            return;
        }
    }
}
