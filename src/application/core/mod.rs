//! What every use case needs: records, actors, time, locks and durable commits.

pub mod audit_context;
pub mod call_origin;
pub mod change_lock;
pub mod commit;
pub(crate) mod keyed_locks;

use self::change_lock::{ChangeGuard, ChangeLock};
use self::commit::Change;
use self::keyed_locks::KeyedLocks;
use crate::application::error::Error;
use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tintype_actors::account::{AccountCommand, AccountHandle, ChangeKey};
use tintype_actors::clock::Clock;
use tintype_actors::fail_stop::FailStop;
use tintype_actors::process_context::ProcessContext;
use tintype_actors::system::System;
use tintype_storage::domain::api_key::{ApiKey, KeyHash};
use tintype_storage::domain::ids::{AccountId, FileId};
use tintype_storage::domain::lock::LockName;
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::EngineError;
use tintype_storage::store::{JobDeletion, Store, StoreError, Writes};
use tokio::sync::{oneshot, watch};
use uuid::Uuid;

pub struct Core {
    pub store: Store,
    pub system: System,
    pub clock: Clock,
    /// Stops the process after a storage failure.
    pub fail_stop: FailStop,
    /// True once a graceful shutdown begins.
    pub stopping: watch::Sender<bool>,
    /// See [`Core::is_draining`].
    draining: AtomicBool,
    /// The durable pause switches, which the dispatcher reads too.
    pub pause: Arc<RwLock<Pause>>,
    pub locks: ChangeLocks,
    /// Label of the currency, for messages.
    pub currency: String,
}

/// The locks under which use cases read, decide and write.
pub struct ChangeLocks {
    /// Guards changes of keys, webhooks, pause switches and alarms, new accounts, test deliveries and the tokens of the object store.
    /// These changes of all accounts wait for each other.
    pub operator: ChangeLock,
    /// Guards changes of people and their sessions.
    pub people: ChangeLock,
    /// Guards changes of what ended jobs leave: favourites, the removal of other images and of old jobs and batches, the erasure of jobs
    /// and batches, new blocks of the search index, and the removal of a batch's result files.
    pub content: ChangeLock,
    /// Guards the submission of an uploaded file as a batch, so that a retry finds the batch of the first call.
    pub files: KeyedLocks<FileId>,
    /// Guards the limits of an account's uploaded files, and of its batches whose file is invalid.
    pub uploads: KeyedLocks<AccountId>,
}

impl ChangeLocks {
    fn new(process: &Arc<ProcessContext>) -> Self {
        Self {
            operator: ChangeLock::new(LockName::Operator, process),
            people: ChangeLock::new(LockName::People, process),
            content: ChangeLock::new(LockName::Content, process),
            files: KeyedLocks::new(LockName::File, process),
            uploads: KeyedLocks::new(LockName::Uploads, process),
        }
    }
}

impl Core {
    pub fn new(system: System, clock: Clock, fail_stop: FailStop, currency: String) -> Self {
        let process = system.process();
        Self {
            pause: Arc::clone(&process.durable_pause),
            locks: ChangeLocks::new(process),
            stopping: watch::Sender::new(false),
            draining: AtomicBool::new(false),
            store: system.store().clone(),
            system,
            clock,
            fail_stop,
            currency,
        }
    }

    /// Is the process about to end? Background tasks then end too. After a storage failure their calls fail, which is not worth a line
    /// each: the log has the reason.
    pub fn is_ending(&self) -> bool {
        *self.stopping.borrow() || self.fail_stop.has_tripped()
    }

    /// Is this node about to stop, but still accepts calls? Load balancers should send it no more of them.
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    pub fn begin_draining(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    pub fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// The id of a record that is created at this time.
    pub fn new_id(&self, now: Timestamp) -> Uuid {
        self.system.process().ids.next(now)
    }

    /// The actor of an account; `otherwise` if there is no such account.
    pub async fn account_actor(
        &self,
        id: AccountId,
        otherwise: fn() -> Error,
    ) -> Result<AccountHandle, Error> {
        self.system
            .accounts()
            .get_or_start(id)
            .await?
            .ok_or_else(otherwise)
    }

    /// Commits, and returns once the writes are durable and memory is updated. Both happen even if the caller disconnects.
    ///
    /// # Errors
    /// The engine failed, which stops the service.
    pub async fn commit(&self, change: impl Into<Change>) -> Result<(), EngineError> {
        let (writes, then, outcome) = with_outcome(change.into());
        self.store.commit(writes, then);
        outcome.await.unwrap_or(Err(EngineError::Stopped))
    }

    /// Commits a change of an API key in its account's decision order: every job accepted later is checked against the changed key.
    /// `after` is the key with the hash of its text; `None` removes it.
    ///
    /// # Errors
    /// The engine failed, which stops the service.
    pub async fn commit_key(
        &self,
        before: &ApiKey,
        after: Option<(KeyHash, ApiKey)>,
        change: Change,
    ) -> Result<(), StoreError> {
        // The account cannot be read, so it accepts no jobs and the change needs no order.
        let Ok(Some(account)) = self.system.accounts().get_or_start(before.account).await else {
            return Ok(self.commit(change).await?);
        };
        let (writes, finish) = change.into_parts();
        let changed = account.call(|reply| {
            AccountCommand::ChangeKey(Box::new(ChangeKey {
                key: before.id,
                after,
                writes,
                then: Box::new(|| finish(true)),
                reply,
            }))
        });
        changed.await.unwrap_or(Err(EngineError::Stopped.into()))
    }

    /// Commits a deletion of ended jobs, and releases the guard.
    ///
    /// # Errors
    /// A record is damaged, or the engine failed, which stops the service.
    pub async fn commit_job_deletion(
        &self,
        mut deletion: JobDeletion,
        guard: ChangeGuard,
    ) -> Result<(), StoreError> {
        let change = Change::under_lock(guard, deletion.writes);
        let (writes, then, outcome) = with_outcome(change);
        deletion.writes = writes;
        self.store.decide(deletion, |_, outcome| then(outcome));
        outcome.await.unwrap_or(Err(EngineError::Stopped.into()))
    }

    /// Commits a change of the pause switches. Every job accepted later is checked against them.
    ///
    /// # Errors
    /// The engine failed, which stops the service.
    pub async fn commit_pause(&self, pause: Pause, change: Change) -> Result<(), EngineError> {
        let (writes, then, outcome) = with_outcome(change);
        let store = &self.store;
        self.system
            .change_pause(pause, || store.commit(writes, then));
        outcome.await.unwrap_or(Err(EngineError::Stopped))
    }
}

type Outcome<E> = oneshot::Receiver<Result<(), E>>;

/// The writes of a change, the callback of their commit, and the receiver of its outcome.
fn with_outcome<E: Send + 'static>(
    change: Change,
) -> (Writes, impl FnOnce(Result<(), E>) + Send, Outcome<E>) {
    let (writes, finish) = change.into_parts();
    let (sender, receiver) = oneshot::channel();
    let then = move |outcome: Result<(), E>| {
        finish(outcome.is_ok());
        // The send fails only if the caller disconnected.
        drop(sender.send(outcome));
    };
    (writes, then, receiver)
}
