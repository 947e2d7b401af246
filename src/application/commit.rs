//! Changes that go on though their caller leaves.
//!
//! When a connection closes, its handler is dropped wherever it waits. A commit that it has handed over becomes true all the
//! same. So whatever has to follow a commit belongs to the commit and not to the handler: what memory learns, how long others
//! wait for their turn, and that a failure ends the process.

use super::error::{Error, ErrorKind};
use super::state::AppState;
use std::sync::Arc;
use tintype_actors::account::{AccountCommand, KeyChange};
use tintype_storage::domain::api_key::{ApiKey, KeyHash};
use tintype_storage::domain::pause::Pause;
use tintype_storage::engine::{Commit, EngineError};
use tintype_storage::store::{StoreError, Writes};
use tokio::sync::{Mutex, OwnedMutexGuard, oneshot};

/// Turns at changing records that several callers may change: read, decide and write are one step.
#[derive(Clone, Default)]
pub struct Turns(Arc<Mutex<()>>);

/// Nobody else changes these records for as long as it is there.
#[derive(Debug)]
pub struct Turn {
    _held: OwnedMutexGuard<()>,
}

impl Turns {
    /// Waits for the turn. It is given to a [`Change`], which keeps it until the commit has ended.
    pub async fn take(&self) -> Turn {
        Turn {
            _held: Arc::clone(&self.0).lock_owned().await,
        }
    }
}

type Learn = Box<dyn FnOnce() + Send>;

/// Writes with what follows them.
pub struct Change {
    writes: Writes,
    turn: Option<Turn>,
    learn: Option<Learn>,
}

impl From<Writes> for Change {
    /// Of records that nobody else changes, and that nothing in memory is a copy of.
    fn from(writes: Writes) -> Self {
        Self {
            writes,
            turn: None,
            learn: None,
        }
    }
}

impl Change {
    /// The turn in which the writes were decided: the next one begins when they are on the disk.
    pub fn in_turn(turn: Turn, writes: Writes) -> Self {
        Self {
            turn: Some(turn),
            ..Self::from(writes)
        }
    }

    /// What memory learns, once the writes are on the disk and before anybody is told so. It is done by the engine's thread:
    /// it must be quick, and must not call the engine.
    pub fn then(self, learn: impl FnOnce() + Send + 'static) -> Self {
        Self {
            learn: Some(Box::new(learn)),
            ..self
        }
    }
}

impl AppState {
    /// Writes and returns once it is on the disk and memory has learned of it. Both happen also when the caller has left.
    ///
    /// # Errors
    /// The engine has failed, and with it the service.
    pub async fn commit(&self, change: impl Into<Change>) -> Result<(), EngineError> {
        let (commit, outcome) = self.commit_of(change.into());
        self.store.engine().submit(commit);
        outcome.await.unwrap_or(Err(EngineError::Stopped))
    }

    /// The same for a change of an API key, as a decision of its account: jobs that were not accepted before are judged by the
    /// key as it is afterwards. `after` is the key with the hash of its text; `None` removes it.
    ///
    /// # Errors
    /// The engine has failed, and with it the service.
    pub async fn commit_key(
        &self,
        before: &ApiKey,
        after: Option<(KeyHash, ApiKey)>,
        change: Change,
    ) -> Result<(), StoreError> {
        // The books of the account cannot be read: then nothing is accepted for it, and the change needs no order.
        let Ok(Some(account)) = self.system.accounts().get(before.account) else {
            return Ok(self.commit(change).await?);
        };
        let Change {
            writes,
            turn,
            learn,
        } = change;
        let then = Box::new(move || {
            learn.into_iter().for_each(|learn| learn());
            drop(turn);
        });
        let (reply, outcome) = oneshot::channel();
        account
            .address
            .do_send(AccountCommand::ChangeKey(Box::new(KeyChange {
                key: before.id,
                after,
                writes,
                then,
                reply,
            })));
        outcome.await.unwrap_or(Err(EngineError::Stopped.into()))
    }

    /// The same for a change of the switches: what is accepted afterwards is decided under them.
    ///
    /// # Errors
    /// The engine has failed, and with it the service.
    pub async fn commit_pause(&self, pause: Pause, change: Change) -> Result<(), EngineError> {
        let (commit, outcome) = self.commit_of(change);
        let engine = self.store.engine();
        self.system.change_pause(pause, || engine.submit(commit));
        outcome.await.unwrap_or(Err(EngineError::Stopped))
    }

    fn commit_of(&self, change: Change) -> (Commit, oneshot::Receiver<Result<(), EngineError>>) {
        let Change {
            writes,
            turn,
            learn,
        } = change;
        let (sender, receiver) = oneshot::channel();
        let fail_stop = self.fail_stop.clone();
        let done = Box::new(move |outcome: Result<(), EngineError>| {
            match &outcome {
                Ok(()) => learn.into_iter().for_each(|learn| learn()),
                Err(error) => fail_stop.trip(error.to_string()),
            }
            drop(turn);
            // The caller may have gone away; then nobody wants to know.
            drop(sender.send(outcome));
        });
        (Commit { writes, done }, receiver)
    }
}

/// Does work to its end, also when the caller leaves meanwhile: for what takes more than one commit, or is no commit at all.
///
/// # Errors
/// Those of the work, and an internal one where it has panicked.
pub async fn detached<T: 'static, E: From<Error> + 'static>(
    work: impl Future<Output = Result<T, E>> + 'static,
) -> Result<T, E> {
    let broken = |_| {
        let detail = "the call could not be finished; try again";
        E::from(Error::new(ErrorKind::Internal, detail))
    };
    tokio::task::spawn_local(work).await.map_err(broken)?
}
