//! The commands of an account actor.

use std::convert::Infallible;
use tintype_storage::domain::account::{Account, AccountChange};
use tintype_storage::domain::api_key::{ApiKey, KeyHash};
use tintype_storage::domain::audit_log::ToAuditEntry;
use tintype_storage::domain::batch::BatchProgress;
use tintype_storage::domain::ids::{BatchId, JobId, KeyId};
use tintype_storage::domain::job::{Job, JobEvent};
use tintype_storage::domain::ledger::LedgerEntry;
use tintype_storage::store::{
    AcceptError, AcceptedBatch, AcceptedJob, AccountChanged, BatchError, CommandError, Deposit,
    DepositError, EventError, NewBatch, NewJob, Refund, RefundError, StoreError, Writes,
};
use tokio::sync::{mpsc, oneshot};

/// Closed once the caller has disconnected. Nothing is ever sent.
pub type CallerConnection = mpsc::Sender<Infallible>;

/// Sends the outcome of a command to its caller. It is dropped without an outcome when the account is overloaded or the process stops.
pub struct Reply<T, E> {
    sender: oneshot::Sender<Result<T, E>>,
    /// The caller's connection, if a detached task waits for the outcome.
    connection: Option<CallerConnection>,
    /// Sent once it is durable.
    pub(super) outcome: Option<Result<T, E>>,
}

impl<T, E> From<oneshot::Sender<Result<T, E>>> for Reply<T, E> {
    fn from(sender: oneshot::Sender<Result<T, E>>) -> Self {
        Self {
            sender,
            connection: None,
            outcome: None,
        }
    }
}

impl<T, E> Reply<T, E> {
    /// Ties the reply to its caller's connection. A detached task keeps the receiver open after the caller has disconnected, so the
    /// receiver alone does not show that.
    pub fn with_connection(self, connection: Option<CallerConnection>) -> Self {
        Self { connection, ..self }
    }

    /// Has the caller gone? Then there is no outcome, even if an earlier transaction that did not commit had one.
    fn refuse_if_abandoned(&mut self) -> bool {
        let connection = self.connection.as_ref();
        let is_abandoned =
            self.sender.is_closed() || connection.is_some_and(CallerConnection::is_closed);
        if is_abandoned {
            self.outcome = None;
        }
        is_abandoned
    }
}

impl<T, E: CommandError> Reply<T, E> {
    /// Stores the outcome, which is sent once it is durable. Returns a store error instead, because a store error fails the round, not the
    /// command.
    pub(super) fn set_outcome(
        &mut self,
        outcome: Result<T, E>,
    ) -> Result<&Result<T, E>, StoreError> {
        match outcome.as_ref().err().and_then(E::store_error) {
            Some(error) => Err(error.clone()),
            None => Ok(self.outcome.insert(outcome)),
        }
    }

    // Sending fails only when the caller is gone.
    fn send(self, durable: Result<(), &StoreError>) {
        let outcome = match durable {
            Ok(()) => self.outcome,
            Err(error) => Some(Err(error.clone().into())),
        };
        drop(outcome.map(|it| self.sender.send(it)));
    }
}

/// A command to an account actor. The actor replies once the outcome is durable. `to_entry` builds the audit log entry; the actor calls
/// it only if the command changed something.
pub enum AccountCommand {
    /// Accepts a job: hold, record and idempotency key in one commit.
    Accept {
        job: Box<NewJob>,
        to_entry: Option<ToAuditEntry<JobId>>,
        reply: Reply<AcceptedJob, AcceptError>,
    },
    /// Accepts all jobs of a batch or none, in one commit.
    AcceptBatch {
        batch: Box<NewBatch>,
        to_entry: Option<ToAuditEntry<BatchId>>,
        reply: Reply<AcceptedBatch, AcceptError>,
    },
    /// Cancels the queued jobs of a batch: none of them begins once this is durable.
    CancelBatch {
        batch: BatchId,
        to_entry: Option<ToAuditEntry<BatchId>>,
        reply: Reply<BatchProgress, BatchError>,
    },
    /// Applies an event to a job. The event that begins a run counts it before it begins.
    Apply {
        job: JobId,
        event: JobEvent,
        to_entry: Option<ToAuditEntry<Job>>,
        reply: Reply<Job, EventError>,
    },
    /// Adds money. A replayed deposit gets no second audit entry.
    Deposit {
        deposit: Deposit,
        to_entry: Option<ToAuditEntry<LedgerEntry>>,
        reply: Reply<LedgerEntry, DepositError>,
    },
    /// Gives back the charge of a job, or a part of it. A replayed refund gets no second audit entry.
    Refund {
        refund: Refund,
        to_entry: Option<ToAuditEntry<LedgerEntry>>,
        reply: Reply<LedgerEntry, RefundError>,
    },
    /// Changes the account's name or limits, or activates or deactivates it.
    Change {
        change: AccountChange,
        to_entry: Option<ToAuditEntry<AccountChanged>>,
        reply: Reply<Account, StoreError>,
    },
    ChangeKey(Box<ChangeKey>),
    /// Changes nothing. The reply comes after the ends of all earlier rounds.
    Barrier {
        reply: Reply<(), StoreError>,
    },
}

/// Runs on the engine's thread once a change is durable, before its reply.
pub type OnCommit = Box<dyn FnOnce() + Send>;

/// Changes or deletes an API key, in the order of the account's decisions: the account judges every later job by the changed key.
pub struct ChangeKey {
    pub key: KeyId,
    /// The new key, with the hash of its text; `None` deletes the key.
    pub after: Option<(KeyHash, ApiKey)>,
    /// The writes of the change, including the audit log entry.
    pub writes: Writes,
    pub then: OnCommit,
    pub reply: Reply<(), StoreError>,
}

impl AccountCommand {
    /// May an overloaded account refuse it? The account always takes the events of runs, and changes of itself and its keys, which must
    /// not wait behind the calls that they restrict. A refused expiry is sent again.
    pub(super) fn is_refusable(&self) -> bool {
        match self {
            Self::Apply { event, .. } => matches!(event, JobEvent::Expire { .. }),
            Self::Change { .. } | Self::ChangeKey(_) => false,
            _ => true,
        }
    }

    /// Refuses a command whose caller has gone, if the command takes or adds money: a call that was not answered with success must
    /// charge nothing. During an outage of the database, callers get an error before their commands are decided.
    pub(super) fn refuse_if_abandoned(&mut self) -> bool {
        match self {
            Self::Accept { reply, .. } => reply.refuse_if_abandoned(),
            Self::AcceptBatch { reply, .. } => reply.refuse_if_abandoned(),
            Self::Deposit { reply, .. } => reply.refuse_if_abandoned(),
            Self::Refund { reply, .. } => reply.refuse_if_abandoned(),
            _ => false,
        }
    }

    /// Sends the outcome, which is durable, or the error of the commit.
    pub(super) fn reply(self, durable: Result<(), &StoreError>) {
        match self {
            Self::Accept { reply, .. } => reply.send(durable),
            Self::AcceptBatch { reply, .. } => reply.send(durable),
            Self::CancelBatch { reply, .. } => reply.send(durable),
            Self::Apply { reply, .. } => reply.send(durable),
            Self::Deposit { reply, .. } => reply.send(durable),
            Self::Refund { reply, .. } => reply.send(durable),
            Self::Change { reply, .. } => reply.send(durable),
            Self::Barrier { reply } => reply.send(durable),
            Self::ChangeKey(change) => {
                if durable.is_ok() {
                    (change.then)();
                }
                change.reply.send(durable);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_that_did_not_commit_is_forgotten_once_the_caller_has_gone() {
        let (sender, mut outcome) = oneshot::channel::<Result<(), StoreError>>();
        let (connection, caller) = mpsc::channel(1);
        let mut reply = Reply::from(sender).with_connection(Some(connection));
        assert!(reply.set_outcome(Ok(())).is_ok());
        assert!(!reply.refuse_if_abandoned());
        drop(caller);
        assert!(reply.refuse_if_abandoned());
        reply.send(Ok(()));
        assert!(outcome.try_recv().is_err());
    }
}
