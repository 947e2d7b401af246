//! Sessions of people and of the operator: begun, found, ended and forgotten. Beginning and ending each have a line in the audit
//! log, in the same commit; the use of a session has none.

use super::audit_context::{AuditContext, Subject, to_audit_entry};
use super::commit::{Change, Turn};
use super::error::Error;
use super::people;
use super::state::AppState;
use super::tokens;
use serde_json::json;
use std::sync::Arc;
use tintype_storage::domain::audit_log::{Action, Actor};
use tintype_storage::domain::person::{Digest32, Person, Session, Visitor};
use tintype_storage::store::{Generation, StoreError, Writes};

/// Sessions looked at in one step of forgetting.
const STEP: usize = 1_000;

/// Who has signed in.
pub enum Who {
    /// The operator.
    Operator,
    /// A person of an account, as they are now.
    Person(Person),
}

impl Who {
    /// As the audit log names them.
    pub fn actor(&self) -> Actor {
        match self {
            Self::Operator => Actor::Operator,
            Self::Person(person) => Actor::Person(person.id.0),
        }
    }

    /// What their sessions are about in the audit log: the person, or `None` for the operator.
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

/// Someone who has signed in.
pub struct SignedIn {
    /// Under which the session is kept.
    pub id: Digest32,
    pub session: Session,
    pub who: Who,
}

/// A session that has begun.
pub struct NewSession {
    /// What the browser holds. Only its hash is kept.
    pub id: String,
    pub who: Who,
}

/// Whose session this is, as of now; `None` where it is over.
pub async fn resolve(state: &AppState, id: Digest32) -> Result<Option<SignedIn>, StoreError> {
    let Some(session) = state.store.session(&id).await? else {
        return Ok(None);
    };
    if !session.is_alive(state.now()) {
        return Ok(None);
    }
    let (who, generation) = match session.visitor {
        Visitor::Operator(token) if token.0 == state.auth.admin_token => {
            (Who::Operator, state.store.operator_generation().await?.0)
        }
        Visitor::Operator(_) => return Ok(None),
        Visitor::Person(account, person) => match state.store.person(account, person).await? {
            Some(person) => {
                let generation = person.generation;
                (Who::Person(person), generation)
            }
            None => return Ok(None),
        },
    };
    let current = generation == session.generation;
    Ok(current.then_some(SignedIn { id, session, who }))
}

/// Begins a session, in one commit with `writes`. Without a `context` the audit log gets no line: the visitor has signed in
/// before.
pub async fn begin(
    state: &AppState,
    turn: Turn,
    who: Who,
    context: Option<&AuditContext>,
    mut writes: Writes,
) -> Result<NewSession, Error> {
    let now = state.now();
    let (visitor, generation) = match &who {
        Who::Operator => {
            let Generation(generation) = state.store.operator_generation().await?;
            (
                Visitor::Operator(Digest32(state.auth.admin_token)),
                generation,
            )
        }
        Who::Person(person) => {
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
        let line = context.line(state, Action::SessionBegin, who.subject());
        let ends = now.plus(Session::LIFETIME).to_string();
        let line = to_audit_entry(line, None, Some(json!({"expires_at": ends})));
        writes.push(state.store.add_audit(&line));
    }
    state.commit(Change::in_turn(turn, writes)).await?;
    Ok(NewSession { id, who })
}

/// Ends a session.
pub async fn end(
    state: &AppState,
    context: &AuditContext,
    visitor: &SignedIn,
) -> Result<(), Error> {
    let turn = state.people.take().await?;
    let mut writes = state.store.remove_session(&visitor.id);
    let began = json!({"created_at": visitor.session.created_at.to_string()});
    let line = context.line(state, Action::SessionEnd, visitor.who.subject());
    let line = to_audit_entry(line, Some(began), None);
    writes.push(state.store.add_audit(&line));
    Ok(state.commit(Change::in_turn(turn, writes)).await?)
}

/// Ends all sessions of a visitor.
pub async fn end_all(
    state: &AppState,
    context: &AuditContext,
    visitor: &SignedIn,
) -> Result<(), Error> {
    let turn = state.people.take().await?;
    let (mut writes, current) = match &visitor.who {
        Who::Operator => {
            let Generation(current) = state.store.operator_generation().await?;
            let next = Generation(current.wrapping_add(1));
            (state.store.set_operator_generation(next), current)
        }
        Who::Person(person) => {
            // Once more: something of the person may have changed since the session was looked at.
            let found = state.store.person(person.account, person.id).await?;
            let person = found.ok_or_else(people::no_person)?;
            let current = person.generation;
            let writes = state.store.put_person(&people::signed_out(person));
            (writes, current)
        }
    };
    writes.extend(state.store.remove_session(&visitor.id));
    let line = context.line(state, Action::SessionEndAll, visitor.who.subject());
    let [before, after] = [current, current.wrapping_add(1)].map(|it| json!({"generation": it}));
    let line = to_audit_entry(line, Some(before), Some(after));
    writes.push(state.store.add_audit(&line));
    Ok(state.commit(Change::in_turn(turn, writes)).await?)
}

/// Writes down that a session is in use, unless it has ended meanwhile.
pub async fn record_use(state: Arc<AppState>, id: Digest32) {
    // The next call of the session tries again.
    let Ok(turn) = state.people.take().await else {
        return;
    };
    let now = state.now();
    if let Ok(Some(session)) = state.store.session(&id).await
        && session.is_alive(now)
        // Of the calls that a page makes together, one is enough.
        && session.is_stale(now)
    {
        let used = Session {
            seen_at: now,
            ..session
        };
        // A failure has ended the service by now.
        let writes = state.store.put_session(&id, &used);
        let _ = state.commit(Change::in_turn(turn, writes)).await;
    }
}

/// Forgets sessions that are over. Called now and then.
pub async fn forget_old(state: &AppState) {
    let mut cursor = Vec::new();
    loop {
        let turn = match state.people.take().await {
            Ok(turn) => turn,
            Err(error) => {
                tracing::warn!(%error, "old sessions could not be forgotten");
                return;
            }
        };
        match state
            .store
            .forget_sessions(state.now(), &cursor, STEP)
            .await
        {
            Ok((writes, next)) => {
                if !writes.is_empty() && state.commit(Change::in_turn(turn, writes)).await.is_err()
                {
                    return;
                }
                cursor = next;
            }
            Err(error) => {
                tracing::error!(%error, "old sessions could not be forgotten");
                return;
            }
        }
        if cursor.is_empty() {
            return;
        }
    }
}
