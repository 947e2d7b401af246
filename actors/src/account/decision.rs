//! The decisions about one batch of commands, and their announcement once the commit is durable.

use super::command::{AccountCommand, KeyChange, OnCommit, Reply};
use super::context::AccountContext;
use crate::delivery::DeliveryCommand;
use crate::queue::QueuedJob;
use crate::stats::BatchCounts;
use tintype_storage::domain::account::Account;
use tintype_storage::domain::delivery::Delivery;
use tintype_storage::domain::ids::{JobId, TransactionId};
use tintype_storage::domain::job::{Job, JobEvent};
use tintype_storage::domain::ledger::LedgerEntry;
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::store::{
    AcceptError, Accepted, AccountState, Batch, DepositError, EventError, StoreError, Writes,
};

/// Commands that are decided as one commit.
pub const MAX_BATCH: usize = 256;

/// What a batch of commands has come to: the writes of one commit, and what follows once they are durable.
pub struct Decision {
    pub writes: Writes,
    pub announcement: Announcement,
}

/// An outcome that waits for its commit.
struct Answer<T, E> {
    outcome: Result<T, E>,
    reply: Reply<T, E>,
}

impl<T, E: From<StoreError>> Answer<T, E> {
    // Sending fails only when the caller has gone away.
    fn send(self) {
        drop(self.reply.send(self.outcome));
    }

    fn fail(self, error: &StoreError) {
        drop(self.reply.send(Err(error.clone().into())));
    }
}

/// What is announced once a commit is durable.
#[derive(Default)]
pub struct Announcement {
    accepted: Vec<Answer<Accepted, AcceptError>>,
    jobs: Vec<Answer<Job, EventError>>,
    deposits: Vec<Answer<LedgerEntry, DepositError>>,
    accounts: Vec<Answer<Account, StoreError>>,
    keys: Vec<(OnCommit, Answer<(), StoreError>)>,
    queued: Vec<QueuedJob>,
    changed: Vec<JobId>,
    /// For the observer; empty where there is none.
    ended: Vec<Job>,
    deliveries: Vec<Delivery>,
    counts: BatchCounts,
}

/// Takes commands from `next` until the batch is full, and decides them.
pub fn decide(
    book: &mut AccountState,
    context: &AccountContext,
    pause: &Pause,
    mut next: impl FnMut() -> Option<AccountCommand>,
) -> Result<Decision, StoreError> {
    let now = (context.clock)();
    let mut batch = book.batch(&context.store, context.limits).under(pause);
    let mut announcement = Announcement::default();
    for _ in 0..MAX_BATCH {
        if batch.is_full() {
            break;
        }
        let Some(command) = next() else { break };
        announcement.decide(command, &mut batch, context, now)?;
    }
    announcement.deliveries = batch.deliveries().to_vec();
    Ok(Decision {
        writes: batch.into_writes()?,
        announcement,
    })
}

impl Announcement {
    /// Decides one command. An error is one of the store, and ends the process.
    fn decide(
        &mut self,
        command: AccountCommand,
        batch: &mut Batch<'_>,
        context: &AccountContext,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        match command {
            AccountCommand::Accept { job, note, reply } => {
                let (tier, mode) = (job.tier, job.mode);
                let id = JobId(context.ids.next(now));
                let outcome = match batch.accept(id, *job, now) {
                    Err(AcceptError::Store(error)) => return Err(error),
                    outcome => outcome,
                };
                match &outcome {
                    Ok(Accepted { replayed: true, .. }) => self.counts.replayed(),
                    Ok(_) => {
                        self.counts.accepted(tier, mode);
                        let account = batch.account().id;
                        self.queued.push(QueuedJob {
                            job: id,
                            account,
                            tier,
                        });
                        if let Some(note) = note {
                            batch.record(&note(&id));
                        }
                    }
                    Err(_) => {}
                }
                self.accepted.push(Answer { outcome, reply });
            }
            AccountCommand::Begin { job, reply } => {
                let max_runs = context.max_runs;
                let outcome = self.apply(job, JobEvent::Begin { max_runs }, batch, context, now)?;
                self.jobs.push(Answer { outcome, reply });
            }
            AccountCommand::Apply {
                job,
                event,
                note,
                reply,
            } => {
                let outcome = self.apply(job, event, batch, context, now)?;
                if let (Ok(job), Some(note)) = (&outcome, note) {
                    batch.record(&note(job));
                }
                self.jobs.push(Answer { outcome, reply });
            }
            AccountCommand::Deposit {
                deposit,
                note,
                reply,
            } => {
                let id = TransactionId(context.ids.next(now));
                let outcome = match batch.deposit(id, deposit, now) {
                    Err(DepositError::Store(error)) => return Err(error),
                    outcome => outcome,
                };
                if let (Ok(entry), Some(note)) = (&outcome, note)
                    && entry.id == id
                {
                    batch.record(&note(entry));
                }
                self.deposits.push(Answer { outcome, reply });
            }
            AccountCommand::Change {
                change,
                note,
                reply,
            } => {
                if let (Some(changed), Some(note)) = (batch.change(change), note) {
                    batch.record(&note(&changed));
                }
                let outcome = Ok(batch.account().clone());
                self.accounts.push(Answer { outcome, reply });
            }
            AccountCommand::ChangeKey(change) => {
                let KeyChange {
                    key,
                    after,
                    writes,
                    then,
                    reply,
                } = *change;
                batch.change_key(key, after, writes);
                let outcome = Ok(());
                self.keys.push((then, Answer { outcome, reply }));
            }
        }
        Ok(())
    }

    fn apply(
        &mut self,
        id: JobId,
        event: JobEvent,
        batch: &mut Batch<'_>,
        context: &AccountContext,
        now: Timestamp,
    ) -> Result<Result<Job, EventError>, StoreError> {
        let begins = matches!(event, JobEvent::Begin { .. });
        let outcome = match batch.apply(id, event, TransactionId(context.ids.next(now)), now) {
            Err(EventError::Store(error)) => return Err(error),
            outcome => outcome,
        };
        if let Ok(job) = &outcome {
            self.changed.push(id);
            self.counts.changed(job, begins, now);
            let is_observed = context.observer.is_some() && job.state.is_terminal();
            self.ended.extend(is_observed.then(|| job.clone()));
        }
        Ok(outcome)
    }

    /// Says what is durable now. Runs on the engine's thread, because another thread would add to the callers' latency.
    pub fn announce(self, context: &AccountContext) {
        // Queues and counts first: a caller who looks as soon as it has its answer finds its job there.
        let was_empty = context.queues.push_all(self.queued);
        context.stats.jobs.add(&self.counts);
        self.accepted.into_iter().for_each(Answer::send);
        self.jobs.into_iter().for_each(Answer::send);
        self.deposits.into_iter().for_each(Answer::send);
        self.accounts.into_iter().for_each(Answer::send);
        for (then, answer) in self.keys {
            then();
            answer.send();
        }
        if let Some(observer) = &context.observer {
            self.ended.iter().for_each(|job| observer.job_ended(job));
        }
        for job in self.changed {
            context.job_changes.notify(job);
        }
        if was_empty {
            context.queues.wake();
        }
        if !self.deliveries.is_empty() {
            let queued = DeliveryCommand::Queued(self.deliveries);
            context.deliveries.do_send(queued);
        }
    }

    /// Answers every caller that the commit has failed.
    pub fn fail(self, error: &StoreError) {
        self.accepted.into_iter().for_each(|it| it.fail(error));
        self.jobs.into_iter().for_each(|it| it.fail(error));
        self.deposits.into_iter().for_each(|it| it.fail(error));
        self.accounts.into_iter().for_each(|it| it.fail(error));
        self.keys.into_iter().for_each(|(_, it)| it.fail(error));
    }
}
