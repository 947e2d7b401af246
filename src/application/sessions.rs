//! Sessions of people and of the operator, as they grow old.

use super::commit::Change;
use super::state::AppState;
use std::sync::Arc;
use tintype_storage::domain::person::{Digest32, Session};

/// Sessions looked at in one step of forgetting.
const STEP: usize = 1_000;

/// Writes down that a session is in use, unless it has ended meanwhile.
pub async fn record_use(state: Arc<AppState>, id: Digest32) {
    let turn = state.people.take().await;
    let now = state.now();
    if let Ok(Some(session)) = state.store.session(&id)
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
        let turn = state.people.take().await;
        match state.store.forget_sessions(state.now(), &cursor, STEP) {
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
