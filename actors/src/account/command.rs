//! What an account actor is asked for.

use tintype_storage::domain::account::{Account, AccountChange};
use tintype_storage::domain::api_key::{ApiKey, KeyHash};
use tintype_storage::domain::audit_log::Note;
use tintype_storage::domain::batch::BatchProgress;
use tintype_storage::domain::ids::{BatchId, JobId, KeyId};
use tintype_storage::domain::job::{Job, JobEvent};
use tintype_storage::domain::ledger::LedgerEntry;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::store::{
    AcceptError, Accepted, AcceptedBatch, AccountChanged, BatchError, CommandError, Deposit,
    DepositError, EventError, NewBatch, NewJob, StoreError, Writes,
};
use tokio::sync::oneshot;

/// Where the outcome of a command goes. It is dropped without an outcome when the account is overloaded or the process stops.
pub struct Reply<T, E> {
    sender: oneshot::Sender<Result<T, E>>,
    /// The outcome, which is sent once it is durable.
    pub(super) outcome: Option<Result<T, E>>,
}

impl<T, E> From<oneshot::Sender<Result<T, E>>> for Reply<T, E> {
    fn from(sender: oneshot::Sender<Result<T, E>>) -> Self {
        Self {
            sender,
            outcome: None,
        }
    }
}

impl<T, E: CommandError> Reply<T, E> {
    /// Keeps an outcome until it is durable. An error of the store is none of the command.
    pub(super) fn decide(&mut self, outcome: Result<T, E>) -> Result<&Result<T, E>, StoreError> {
        match outcome.as_ref().err().and_then(E::store_error) {
            Some(error) => Err(error.clone()),
            None => Ok(self.outcome.insert(outcome)),
        }
    }

    // Sending fails only when the caller has gone away.
    fn answer(self) {
        if let Some(outcome) = self.outcome {
            drop(self.sender.send(outcome));
        }
    }

    fn fail(self, error: &StoreError) {
        drop(self.sender.send(Err(error.clone().into())));
    }
}

/// A command to an account actor. Each is answered once its outcome is durable. `note` writes the line of the audit log, and
/// is not called where the command changed nothing.
pub enum AccountCommand {
    /// Accepts a job: hold, record and idempotency key in one commit.
    Accept {
        job: Box<NewJob>,
        note: Option<Note<JobId>>,
        reply: Reply<Accepted, AcceptError>,
    },
    /// Accepts a batch, whole or not at all, in one commit.
    AcceptBatch {
        batch: Box<NewBatch>,
        note: Option<Note<BatchId>>,
        reply: Reply<AcceptedBatch, AcceptError>,
    },
    /// Cancels what is still queued of a batch: no queued job of it begins once this is durable.
    CancelBatch {
        batch: BatchId,
        note: Option<Note<BatchId>>,
        reply: Reply<BatchProgress, BatchError>,
    },
    /// Begins a run of a job, or fails the job where it has had all its runs. The run counts before it begins.
    Begin {
        job: JobId,
        reply: Reply<Job, EventError>,
    },
    /// Applies an event that ends a run or a job.
    Apply {
        job: JobId,
        event: JobEvent,
        note: Option<Note<Job>>,
        reply: Reply<Job, EventError>,
    },
    /// Fails a job that is still queued though its time is up. Takes the expiry off the record in any case.
    Expire {
        job: JobId,
        due: Timestamp,
        reply: Reply<Job, EventError>,
    },
    /// Adds money. A deposit that was made before has its audit line already.
    Deposit {
        deposit: Deposit,
        note: Option<Note<LedgerEntry>>,
        reply: Reply<LedgerEntry, DepositError>,
    },
    /// Changes the account's name or limits, or activates or deactivates it.
    Change {
        change: AccountChange,
        note: Option<Note<AccountChanged>>,
        reply: Reply<Account, StoreError>,
    },
    ChangeKey(Box<KeyChange>),
}

/// Runs on the engine's thread once a change is durable, before its reply.
pub type OnCommit = Box<dyn FnOnce() + Send>;

/// Changes or removes an API key, in the order of the account's decisions: a job that was not accepted before is judged by the
/// changed key.
pub struct KeyChange {
    pub key: KeyId,
    /// The key as it will be, with the hash of its text; `None` for a key that is removed.
    pub after: Option<(KeyHash, ApiKey)>,
    /// The writes of the change, with the line of the audit log.
    pub writes: Writes,
    pub then: OnCommit,
    pub reply: Reply<(), StoreError>,
}

impl AccountCommand {
    /// May an overloaded account refuse it? It always takes the ends of runs, and the changes of the account and its keys, which must not
    /// wait for the calls that they are to stop.
    pub(super) fn is_refusable(&self) -> bool {
        !matches!(
            self,
            Self::Begin { .. } | Self::Apply { .. } | Self::Change { .. } | Self::ChangeKey(_)
        )
    }

    /// Sends the outcome to the caller.
    pub(super) fn answer(self) {
        match self {
            Self::Accept { reply, .. } => reply.answer(),
            Self::AcceptBatch { reply, .. } => reply.answer(),
            Self::CancelBatch { reply, .. } => reply.answer(),
            Self::Begin { reply, .. } | Self::Apply { reply, .. } | Self::Expire { reply, .. } => {
                reply.answer()
            }
            Self::Deposit { reply, .. } => reply.answer(),
            Self::Change { reply, .. } => reply.answer(),
            Self::ChangeKey(change) => {
                (change.then)();
                change.reply.answer();
            }
        }
    }

    /// Tells the caller that the commit has failed.
    pub(super) fn fail(self, error: &StoreError) {
        match self {
            Self::Accept { reply, .. } => reply.fail(error),
            Self::AcceptBatch { reply, .. } => reply.fail(error),
            Self::CancelBatch { reply, .. } => reply.fail(error),
            Self::Begin { reply, .. } | Self::Apply { reply, .. } | Self::Expire { reply, .. } => {
                reply.fail(error)
            }
            Self::Deposit { reply, .. } => reply.fail(error),
            Self::Change { reply, .. } => reply.fail(error),
            Self::ChangeKey(change) => change.reply.fail(error),
        }
    }
}
