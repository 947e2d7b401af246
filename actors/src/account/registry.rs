//! Finds the actor of an account, and starts it if it does not run.

use super::actor::AccountActor;
use super::command::{AccountCommand, Reply};
use super::context::AccountContext;
use super::in_flight::{InFlight, InFlightGuard};
use super::inbox::{Inbox, PutOutcome};
use super::round::{AccountRound, Wake};
use super::shared_state::{AccountMemory, AccountSharedState, StateSource};
use crate::fail_stop::FailStop;
use actix::{Actor, ArbiterHandle, Recipient};
use parking_lot::RwLock;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::api_key::ApiKey;
use tintype_storage::domain::audit_log::ToAuditEntry;
use tintype_storage::domain::backend_pauses::BackendPauses;
use tintype_storage::domain::ids::{AccountId, BatchId, JobId, KeyId};
use tintype_storage::domain::job::{Job, JobEvent};
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::deferred_wake::DeferredWake;
use tintype_storage::fast_hash::HashMap;
use tintype_storage::store::{
    AcceptError, AcceptedBatch, AcceptedJob, AccountState, BeforeJobs, EventError, LiveJobs,
    NewBatch, NewJob, StoreError,
};
use tokio::sync::oneshot;

/// Maximum number of commands that wait for a round to end. Further calls are refused as overload. Twice what the creations of an account
/// use by default, so that a deposit or a cancel finds room beside them.
const MAX_WAITING: usize = 8_192;

/// The actor of an account.
#[derive(Clone)]
pub struct AccountHandle {
    /// Wakes the actor. Shared, because each call clones the handle.
    wake: Arc<Recipient<Wake>>,
    shared: Arc<AccountSharedState>,
    in_flight: InFlight,
}

/// The account's inbox is full, or the process stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the account has too many calls in flight")]
pub struct Overloaded;

/// Why a command got no reply. Nothing that it would have changed is durable, unless the process stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoReply {
    #[error(transparent)]
    Overloaded(#[from] Overloaded),
    #[error("the process stops after a failure")]
    Stopping,
}

impl AccountHandle {
    /// Sends a job to be accepted. The caller keeps the guard until it has the reply.
    pub fn accept(
        &self,
        job: NewJob,
        to_entry: Option<ToAuditEntry<JobId>>,
        reply: impl Into<Reply<AcceptedJob, AcceptError>>,
    ) -> Result<InFlightGuard, Overloaded> {
        self.create(AccountCommand::Accept {
            job: Box::new(job),
            to_entry,
            reply: reply.into(),
        })
    }

    /// Sends a batch to be accepted. The caller keeps the guard until it has the reply.
    pub fn accept_batch(
        &self,
        batch: NewBatch,
        to_entry: Option<ToAuditEntry<BatchId>>,
        reply: impl Into<Reply<AcceptedBatch, AcceptError>>,
    ) -> Result<InFlightGuard, Overloaded> {
        self.create(AccountCommand::AcceptBatch {
            batch: Box::new(batch),
            to_entry,
            reply: reply.into(),
        })
    }

    fn create(&self, command: AccountCommand) -> Result<InFlightGuard, Overloaded> {
        let guard = self.in_flight.begin();
        self.send(command)?;
        Ok(guard)
    }

    /// Cancels a queued job.
    pub async fn cancel(
        &self,
        job: JobId,
        to_entry: Option<ToAuditEntry<Job>>,
    ) -> Result<Result<Job, EventError>, NoReply> {
        self.apply(job, JobEvent::Cancel, to_entry).await
    }

    /// Cancels a queued job whose caller's connection is lost.
    pub async fn abandon(&self, job: JobId) -> Result<Result<Job, EventError>, NoReply> {
        self.apply(job, JobEvent::Abandon, None).await
    }

    /// Cancels a queued job whose caller waits on a connection while no backend of the model is in service.
    pub async fn cancel_unserved(&self, job: JobId) -> Result<Result<Job, EventError>, NoReply> {
        self.apply(job, JobEvent::Unserved, None).await
    }

    /// Applies an event to a job.
    pub async fn apply(
        &self,
        job: JobId,
        event: JobEvent,
        to_entry: Option<ToAuditEntry<Job>>,
    ) -> Result<Result<Job, EventError>, NoReply> {
        self.call(|reply| AccountCommand::Apply {
            job,
            event,
            to_entry,
            reply,
        })
        .await
    }

    /// Sends a command and waits for its outcome.
    pub async fn call<T, E>(
        &self,
        command: impl FnOnce(Reply<T, E>) -> AccountCommand,
    ) -> Result<Result<T, E>, NoReply> {
        let (reply, outcome) = oneshot::channel();
        // A refused command is dropped with its reply.
        let _ = self.send(command(reply.into()));
        match DeferredWake::new(outcome).await {
            Ok(outcome) => Ok(outcome),
            Err(_) if self.shared.context.process.fail_stop.has_tripped() => Err(NoReply::Stopping),
            Err(_) => Err(Overloaded.into()),
        }
    }

    /// Sends a command. A refused command is dropped, and so is every reply when the process stops.
    pub fn send(&self, command: AccountCommand) -> Result<(), Overloaded> {
        let is_refusable = command.is_refusable();
        // Deciding about one job takes less time than waking the actor's thread.
        let is_short = matches!(command, AccountCommand::Accept { .. });
        match self.shared.inbox.put(command, is_refusable) {
            PutOutcome::Queued => Ok(()),
            PutOutcome::Wake if is_short && !self.shared.is_joining() => {
                // One round only: its end wakes the actor for the commands of other callers.
                AccountRound::start(&self.shared, &self.wake);
                Ok(())
            }
            PutOutcome::Wake => {
                self.wake.do_send(Wake);
                Ok(())
            }
            PutOutcome::Refused => Err(Overloaded),
        }
    }

    /// The account's live jobs. A hint: the actor decides.
    pub fn live_jobs(&self) -> usize {
        if let Some(memory) = self.shared.memory() {
            return memory.live_jobs();
        }
        let depths = self.shared.context.queue.depths_of(self.shared.id);
        depths.queued.iter().sum::<usize>() + depths.running
    }

    /// Waits until every commit of the account that is readable now is in the state in memory too. Readers may see a commit earlier,
    /// because an engine makes many commits readable before it announces the first one. Returns false if there is nothing to wait for,
    /// or the account is overloaded.
    async fn catch_up(&self) -> bool {
        if self.shared.memory().is_none() {
            return false;
        }
        let outcome = self.call(|reply| AccountCommand::Barrier { reply }).await;
        matches!(outcome, Ok(Ok(())))
    }

    /// Refuses a price above the spend limits of the key. A hint: the actor decides.
    ///
    /// # Errors
    /// [`AcceptError::KeyLimit`]; the store cannot be read.
    pub async fn check_key_spending(&self, key: &ApiKey, price: Amount) -> Result<(), AcceptError> {
        let limits = key.spend_limits();
        if !limits.any() {
            return Ok(());
        }
        let process = &self.shared.context.process;
        // Read first: a job that ends after this read is neither spent nor reserved, instead of both.
        let spent = process.store.key_spending(key.id).await?;
        let check = |held| limits.check(&spent, held, price, process.now());
        let Err(refusal) = check(self.reserved_of(key.id).await?) else {
            return Ok(());
        };
        // A job that ended before the read may still be reserved in memory.
        match self.catch_up().await {
            true => Ok(check(self.reserved_of(key.id).await?)?),
            false => Err(refusal.into()),
        }
    }

    /// The reserved prices of a key's live jobs, without the jobs whose end was readable before the call.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn reserved_after_commits(&self, key: KeyId) -> Result<Amount, StoreError> {
        self.catch_up().await;
        self.reserved_of(key).await
    }

    /// The same for each of these keys.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn all_reserved_after_commits(
        &self,
        keys: &[KeyId],
    ) -> Result<Vec<Amount>, StoreError> {
        self.catch_up().await;
        self.read_reserved(|of| keys.iter().map(|key| of(*key)).collect())
            .await
    }

    async fn reserved_of(&self, key: KeyId) -> Result<Amount, StoreError> {
        self.read_reserved(|of| of(key)).await
    }

    /// Gives `read` the reserved prices of the live jobs of any key. Reads no job, because an account may have very many.
    async fn read_reserved<T>(
        &self,
        read: impl FnOnce(&dyn Fn(KeyId) -> Amount) -> T,
    ) -> Result<T, StoreError> {
        if let Some(memory) = self.shared.memory() {
            let state = memory.state.lock();
            return Ok(read(&|key| state.reserved_of(key)));
        }
        let AccountSharedState { id, context, .. } = &*self.shared;
        let load = context.process.store.account_load(*id).await?;
        let of = |key| match &load {
            Some((_, load)) => load.reserved_of(key),
            None => Amount::ZERO,
        };
        Ok(read(&of))
    }

    /// Refuses `jobs` more jobs that would exceed the live jobs of the account or the key. A hint: the actor decides. `read` contains
    /// the records that the call has read already.
    ///
    /// # Errors
    /// [`AcceptError::TooManyLive`], [`AcceptError::TooManyLiveOfKey`]; the store cannot be read.
    pub async fn check_live_jobs(
        &self,
        key: &ApiKey,
        jobs: usize,
        read: Option<&BeforeJobs>,
    ) -> Result<(), AcceptError> {
        let check = async || match self.live_jobs_with(key, read).await? {
            Some(live) => live.admit(jobs),
            None => Ok(()),
        };
        let Err(refusal) = check().await else {
            return Ok(());
        };
        // The caller may have read that a job has ended that still counts in memory.
        match self.catch_up().await {
            true => check().await,
            false => Err(refusal),
        }
    }

    /// The live jobs of the account and of a key; `None` if no node has decided about the account.
    async fn live_jobs_with(
        &self,
        key: &ApiKey,
        read: Option<&BeforeJobs>,
    ) -> Result<Option<LiveJobs>, StoreError> {
        let AccountSharedState { id, context, .. } = &*self.shared;
        if let Some(memory) = self.shared.memory() {
            let of_key = || memory.state.lock().live_jobs_of(key.id);
            return Ok(Some(LiveJobs {
                of_account: memory.live_jobs(),
                max_of_account: memory.max_live_jobs(),
                of_key: key.max_concurrent.map_or(0, |_| of_key()),
                max_of_key: key.max_concurrent,
            }));
        }
        let now = match read {
            Some(_) => None,
            None => context.process.store.account_load(*id).await?,
        };
        let load = now.as_ref().or(read.and_then(|it| it.load.as_ref()));
        Ok(load.map(|(account, load)| LiveJobs {
            of_account: load.live_jobs as usize,
            max_of_account: context.limits.max_live(&account.limits),
            of_key: load.live_jobs_of(key.id),
            max_of_key: key.max_concurrent,
        }))
    }
}

/// The account actors of the process, shared by all threads.
pub struct AccountRegistry {
    arbiter: ArbiterHandle,
    context: Arc<AccountContext>,
    running: RwLock<HashMap<AccountId, AccountHandle>>,
    /// Creations of all accounts.
    in_flight: InFlight,
}

impl AccountRegistry {
    pub fn new(arbiter: ArbiterHandle, context: Arc<AccountContext>) -> Self {
        Self {
            arbiter,
            context,
            running: RwLock::default(),
            in_flight: InFlight::default(),
        }
    }

    pub fn in_flight(&self) -> usize {
        self.in_flight.count()
    }

    /// Creations of one account in flight.
    pub fn creations_in_flight_of(&self, account: AccountId) -> usize {
        let running = self.running.read();
        running.get(&account).map_or(0, |it| it.in_flight.count())
    }

    pub(crate) fn context(&self) -> &AccountContext {
        &self.context
    }

    /// Publishes a durable change of the paused models, and wakes the dispatcher, because jobs of a resumed model may begin.
    pub fn publish_pause(&self, pause: Pause) {
        *self.context.process.durable_pause.write() = pause;
        self.context.local_queue.wake();
    }

    /// Publishes a durable change of the paused backends, and wakes the dispatcher.
    pub fn publish_backend_pauses(&self, pauses: BackendPauses) {
        self.context.process.durable_backend_pauses.publish(pauses);
        self.context.local_queue.wake();
    }

    pub fn now(&self) -> Timestamp {
        self.context.process.now()
    }

    pub fn fail_stop(&self) -> &FailStop {
        &self.context.process.fail_stop
    }

    /// Returns the actor of an account, and starts it if it does not run; `None` if the account does not exist.
    pub async fn get_or_start(&self, id: AccountId) -> Result<Option<AccountHandle>, StoreError> {
        if let Some(handle) = self.running.read().get(&id) {
            return Ok(Some(handle.clone()));
        }
        let store = &self.context.process.store;
        let Some(account) = store.account(id).await? else {
            return Ok(None);
        };
        let source = match &self.context.process.node {
            // Current if no actor has started since the read, because only an actor's rounds change the account.
            None => self.in_memory(AccountState::load(store, account).await?),
            Some(node) => StateSource::Store(node.id),
        };
        // The store was read without the lock: a read under it would block all threads while the database does not answer.
        Ok(Some(match self.running.write().entry(id) {
            Entry::Occupied(running) => running.get().clone(),
            Entry::Vacant(vacant) => vacant.insert(self.start(id, source)).clone(),
        }))
    }

    /// Starts the actor of an account whose live jobs are counted already.
    pub fn start_with(&self, state: AccountState) -> Result<(), StoreError> {
        let id = state.account().id;
        if let Some(fault) = state.fault() {
            return Err(StoreError::Inconsistent { account: id, fault });
        }
        let handle = self.start(id, self.in_memory(state));
        self.running.write().insert(id, handle);
        Ok(())
    }

    fn in_memory(&self, state: AccountState) -> StateSource {
        let memory = AccountMemory::new(state, &self.context.limits);
        StateSource::Memory(Box::new(memory))
    }

    fn start(&self, id: AccountId, source: StateSource) -> AccountHandle {
        let shared = Arc::new(AccountSharedState {
            id,
            context: Arc::clone(&self.context),
            inbox: Inbox::new(MAX_WAITING),
            source,
        });
        let own = Arc::clone(&shared);
        let address =
            AccountActor::start_in_arbiter(&self.arbiter, move |_| AccountActor::new(own));
        AccountHandle {
            wake: Arc::new(address.recipient()),
            shared,
            in_flight: InFlight::within(&self.in_flight),
        }
    }
}
