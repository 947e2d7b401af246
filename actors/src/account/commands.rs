//! What an account actor is asked for, and the answers that wait for the disk.

use actix::Message;
use tintype_storage::domain::account::{Account, AccountChange};
use tintype_storage::domain::api_key::{ApiKey, KeyHash};
use tintype_storage::domain::audit_log::Note;
use tintype_storage::domain::ids::{JobId, KeyId};
use tintype_storage::domain::job::{Job, JobEvent};
use tintype_storage::domain::ledger::LedgerEntry;
use tintype_storage::store::{
    AcceptError, Accepted, AccountChanged, Deposit, DepositError, EventError, NewJob, StoreError,
    Writes,
};
use tokio::sync::oneshot;

/// Where the answer to a command goes. Whoever waits may have gone away.
pub type Reply<T> = oneshot::Sender<T>;

/// Accepts a job: hold, record and idempotency key in one commit. Answered once that is on the disk.
///
/// It is no message: [`AccountHandle::accept`](crate::accounts::AccountHandle::accept) lays it into the account's inbox.
pub struct AcceptJob {
    /// The job.
    pub job: Box<NewJob>,
    /// Writes the line of the audit log, where it is not a key's holder who asks. A replay has none.
    pub note: Option<Note<JobId>>,
    /// Hears the outcome.
    pub reply: Reply<Result<Accepted, AcceptError>>,
}

/// Begins a run of a job. Answered at once: the record rides in the next batch, and a run that is lost with it is begun again.
#[derive(Message)]
#[rtype(result = "()")]
pub struct BeginJob {
    /// The job.
    pub job: JobId,
    /// Hears the job as it is now.
    pub reply: Reply<Result<Job, EventError>>,
}

/// Applies what ends a run or a job. Answered once that is on the disk.
#[derive(Message)]
#[rtype(result = "()")]
pub struct ApplyEvent {
    /// The job.
    pub job: JobId,
    /// What happened.
    pub event: JobEvent,
    /// Writes the line of the audit log, where somebody wanted it. What comes to nothing has none.
    pub note: Option<Note<Job>>,
    /// Hears the job as it is now.
    pub reply: Reply<Result<Job, EventError>>,
}

/// Adds money. Answered once that is on the disk.
#[derive(Message)]
#[rtype(result = "()")]
pub struct DepositMoney {
    /// How much, and why.
    pub deposit: Deposit,
    /// Writes the line of the audit log. A deposit that was made before has its line already.
    pub note: Option<Note<LedgerEntry>>,
    /// Hears the ledger's new line.
    pub reply: Reply<Result<LedgerEntry, DepositError>>,
}

/// Changes what an account is called, or whether it is switched on. Answered once that is on the disk.
#[derive(Message)]
#[rtype(result = "()")]
pub struct ChangeAccount {
    /// What of it.
    pub change: AccountChange,
    /// Writes the line of the audit log. What is so already has none.
    pub note: Option<Note<AccountChanged>>,
    /// Hears the account as it is now.
    pub reply: Reply<Result<Account, StoreError>>,
}

/// Changes or removes an API key, in the order of the account's decisions: a job that was not accepted before is judged by the
/// key as it is afterwards. Answered once that is on the disk.
#[derive(Message)]
#[rtype(result = "()")]
pub struct ChangeKey {
    /// Which key.
    pub key: KeyId,
    /// The key as it will be, with the hash of its text; `None` for one that is removed.
    pub after: Option<(KeyHash, ApiKey)>,
    /// What makes it so, the line of the audit log among it.
    pub writes: Writes,
    /// Runs once the change is on the disk and before anybody hears of it, on the engine's thread.
    pub then: Box<dyn FnOnce() + Send>,
    /// Hears that it is.
    pub reply: Reply<Result<(), StoreError>>,
}

/// What waits to be decided.
pub(super) enum Command {
    Accept(
        Box<NewJob>,
        Option<Note<JobId>>,
        Reply<Result<Accepted, AcceptError>>,
    ),
    Begin(JobId, Reply<Result<Job, EventError>>),
    Apply(
        JobId,
        JobEvent,
        Option<Note<Job>>,
        Reply<Result<Job, EventError>>,
    ),
    Deposit(
        Deposit,
        Option<Note<LedgerEntry>>,
        Reply<Result<LedgerEntry, DepositError>>,
    ),
    Change(
        AccountChange,
        Option<Note<AccountChanged>>,
        Reply<Result<Account, StoreError>>,
    ),
    ChangeKey(Box<ChangeKey>),
}

/// Answers that wait for the disk. Sending one fails only when nobody waits for it any more.
pub(super) enum Answer {
    Accept(
        Result<Accepted, AcceptError>,
        Reply<Result<Accepted, AcceptError>>,
    ),
    Event(Result<Box<Job>, EventError>, Reply<Result<Job, EventError>>),
    Deposit(
        Result<LedgerEntry, DepositError>,
        Reply<Result<LedgerEntry, DepositError>>,
    ),
    Change(Account, Reply<Result<Account, StoreError>>),
    KeyChanged(Box<dyn FnOnce() + Send>, Reply<Result<(), StoreError>>),
}

impl Answer {
    pub(super) fn send(self) {
        match self {
            Self::Accept(outcome, reply) => drop(reply.send(outcome)),
            Self::Event(outcome, reply) => drop(reply.send(outcome.map(|job| *job))),
            Self::Deposit(outcome, reply) => drop(reply.send(outcome)),
            Self::Change(account, reply) => drop(reply.send(Ok(account))),
            Self::KeyChanged(then, reply) => {
                then();
                drop(reply.send(Ok(())));
            }
        }
    }

    pub(super) fn send_failure(self, error: StoreError) {
        match self {
            Self::Accept(_, reply) => drop(reply.send(Err(error.into()))),
            Self::Event(_, reply) => drop(reply.send(Err(error.into()))),
            Self::Deposit(_, reply) => drop(reply.send(Err(error.into()))),
            Self::Change(_, reply) => drop(reply.send(Err(error))),
            Self::KeyChanged(_, reply) => drop(reply.send(Err(error))),
        }
    }
}
