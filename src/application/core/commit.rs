//! Changes that complete even if their caller disconnects.
//!
//! When a connection closes, actix drops its handler at the current await point, but a submitted commit still becomes durable. So
//! everything that must follow a commit belongs to the commit, not to the handler: the update of in-memory state, the release of
//! the lock, and the stop of the process after a failure.

use super::change_lock::ChangeGuard;
use crate::application::error::{self, Error};
use tintype_storage::store::Writes;

type AfterCommit = Box<dyn FnOnce() + Send>;

/// Writes and what must follow their commit.
pub struct Change {
    writes: Writes,
    guards: Vec<ChangeGuard>,
    after_commit: Option<AfterCommit>,
}

impl From<Writes> for Change {
    /// For records that have no other writer and no copy in memory.
    fn from(writes: Writes) -> Self {
        Self {
            writes,
            guards: Vec::new(),
            after_commit: None,
        }
    }
}

impl Change {
    /// Releases the guard, if there is one, once the writes are durable.
    pub fn under_lock(guard: impl Into<Option<ChangeGuard>>, writes: Writes) -> Self {
        let guard: Option<ChangeGuard> = guard.into();
        Self::under_locks(guard, writes)
    }

    /// Releases the guards once the writes are durable.
    pub fn under_locks(guards: impl IntoIterator<Item = ChangeGuard>, writes: Writes) -> Self {
        Self {
            guards: guards.into_iter().collect(),
            ..Self::from(writes)
        }
    }

    /// Updates memory after the writes are durable and before any caller gets its response. Runs on the engine's thread: it must be
    /// quick and must not call the engine.
    pub fn then(self, after_commit: impl FnOnce() + Send + 'static) -> Self {
        Self {
            after_commit: Some(Box::new(after_commit)),
            ..self
        }
    }

    /// The writes, with the release of the locks, and what to call after their commit with whether it succeeded.
    pub(super) fn into_parts(self) -> (Writes, impl FnOnce(bool) + Send + 'static) {
        let Self {
            mut writes,
            guards,
            after_commit,
        } = self;
        guards.iter().for_each(|it| it.add_release(&mut writes));
        let finish = move |is_durable: bool| {
            if is_durable {
                after_commit.into_iter().for_each(|it| it());
            }
            // After a failure too: it stops the process.
            guards.into_iter().for_each(ChangeGuard::mark_released);
        };
        (writes, finish)
    }
}

/// Runs work to its end even if the caller disconnects. For work with several commits, or with none.
///
/// # Errors
/// The errors of the work, and `Internal` if it panics.
pub async fn detached<T: 'static, E: From<Error> + 'static>(
    work: impl Future<Output = Result<T, E>> + 'static,
) -> Result<T, E> {
    tokio::task::spawn_local(work)
        .await
        .map_err(|_| E::from(error::internal()))?
}
