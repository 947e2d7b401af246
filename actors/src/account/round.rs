//! One round of an account: decides a batch of commands, and announces the decisions once they are durable.

use super::command::{AccountCommand, KeyChange, Reply};
use super::context::AccountContext;
use super::shared_state::AccountSharedState;
use crate::delivery::DeliveryCommand;
use crate::queue::{Expiry, Lane, QueueChange, QueuedJob, Removal};
use crate::stats::DecidedCounts;
use actix::{Message, Recipient};
use std::sync::Arc;
use tintype_storage::domain::audit_log::Note;
use tintype_storage::domain::delivery::{Delivery, DeliveryId};
use tintype_storage::domain::ids::{AccountId, BatchId, JobId, NodeId, TransactionId};
use tintype_storage::domain::job::{Job, JobEvent};
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::{EngineError, Key, ReadRequest, ReadResults, Round, RoundStep};
use tintype_storage::store::{
    AcceptError, AcceptedBatch, AcceptedJob, AccountState, Decisions, EventError, NewBatch, NewJob,
    RoundOutcome, StateChange, StoreError, Writes,
};

/// The inbox may have commands, or a round has ended or failed.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Wake;

/// A round of commands of one account.
pub struct AccountRound {
    pub shared: Arc<AccountSharedState>,
    pub wake: Recipient<Wake>,
    /// The paused models at the start of the round.
    pub pause: Pause,
    pub commands: Vec<AccountCommand>,
    /// The result of the last call of `decide`.
    pub decision: Decision,
    /// The account as that call read it, if several nodes share the store.
    pub read: Option<AccountState>,
}

/// The effects of the decided commands, beside their writes and replies.
#[derive(Default)]
pub struct Decision {
    /// The number of decided commands, from the first one on. The others go to the next round.
    decided: usize,
    change: Option<StateChange>,
    error: Option<StoreError>,
    queued: Vec<QueuedJob>,
    expiring: Vec<Expiry>,
    changed: Vec<JobId>,
    /// Ended jobs, if there is an observer.
    ended: Vec<Job>,
    deliveries: Vec<Delivery>,
    /// Changes of the shared queue.
    queue_changes: Vec<QueueChange>,
    counts: DecidedCounts,
}

impl Round for AccountRound {
    fn holds(&self) -> Vec<Key> {
        vec![AccountState::hold_of(self.shared.id)]
    }

    fn needs(&self) -> Vec<ReadRequest> {
        let mut needs = needs(&self.shared.state.lock(), &self.commands);
        if self.shared.context.process.node.is_some() {
            needs.extend(AccountState::shared_state_reads(self.shared.id));
        }
        needs
    }

    fn decide(&mut self, reads: &ReadResults) -> RoundStep {
        self.decision = Decision::default();
        let step = match self.shared.context.process.node.clone() {
            None => self.decide_on_memory(reads),
            Some(node) => self.decide_on_store(node.id, reads),
        };
        step.unwrap_or_else(|error| {
            self.decision.error = Some(error);
            RoundStep::Write(Writes::new())
        })
    }

    /// Runs on the engine's thread, because another thread would add to the callers' latency.
    fn done(mut self: Box<Self>, outcome: Result<(), EngineError>) {
        let context = &self.shared.context;
        let undecided = self.commands.split_off(self.decision.decided);
        match (outcome, self.decision.error.take()) {
            (Ok(()), None) => {
                match (self.decision.change.take(), self.read.take()) {
                    (Some(change), None) => self.shared.apply(change),
                    (Some(change), Some(read)) => self.shared.apply_to(read, change),
                    (None, _) => {}
                }
                self.decision.announce(self.commands, context);
            }
            (Ok(()), Some(error)) => context.process.fail_stop.trip(error.to_string()),
            (Err(error), _) => {
                let error = StoreError::from(error);
                self.commands
                    .into_iter()
                    .for_each(|it| it.answer(Err(&error)));
            }
        }
        // Also after a failure, so that commands that arrived meanwhile are refused at once.
        if self.shared.inbox.commit_ended(undecided) {
            self.wake.do_send(Wake);
        }
    }
}

impl AccountRound {
    /// Decides on the state in memory: only this process changes the account.
    fn decide_on_memory(&mut self, reads: &ReadResults) -> Result<RoundStep, StoreError> {
        let context = &self.shared.context;
        let state = self.shared.state.lock();
        let decisions = state.decisions(reads, context.limits).under(&self.pause);
        self.decision
            .decide(&mut self.commands, decisions, reads, context)
    }

    /// Decides on the state in the store, which other nodes change too.
    fn decide_on_store(
        &mut self,
        node: NodeId,
        reads: &ReadResults,
    ) -> Result<RoundStep, StoreError> {
        let context = &self.shared.context;
        let read = match AccountState::of_shared(node, self.shared.id, reads)? {
            Ok(read) => read,
            Err(unread) => return Ok(RoundStep::Read(unread)),
        };
        if let Some(newest) = read.state.newest_of_others() {
            context.process.ids.raise(newest);
        }
        let decisions = read.state.decisions(reads, context.limits);
        let decisions = decisions.under(&read.pause);
        let step = self
            .decision
            .decide(&mut self.commands, decisions, reads, context)?;
        self.read = Some(read.state);
        Ok(step)
    }
}

/// The records that every decision about these commands reads.
fn needs(state: &AccountState, commands: &[AccountCommand]) -> Vec<ReadRequest> {
    let mut needs = Vec::new();
    for command in commands {
        match command {
            AccountCommand::Accept { job, .. } => state.needs_to_accept(job, &mut needs),
            AccountCommand::AcceptBatch { batch, .. } => {
                state.needs_to_accept_batch(batch, &mut needs);
            }
            AccountCommand::CancelBatch { batch, .. } => {
                state.needs_to_cancel_batch(*batch, &mut needs);
            }
            AccountCommand::Begin { job, .. } => {
                let event = JobEvent::Begin { max_runs: 0 };
                state.needs_to_apply(*job, &event, &mut needs);
            }
            AccountCommand::Apply { job, event, .. } => {
                state.needs_to_apply(*job, event, &mut needs);
            }
            AccountCommand::Expire { job, .. } => {
                state.needs_to_apply(*job, &JobEvent::Expire, &mut needs);
            }
            AccountCommand::Deposit { deposit, .. } => state.needs_to_deposit(deposit, &mut needs),
            AccountCommand::Change { .. } | AccountCommand::ChangeKey(_) => {}
        }
    }
    needs
}

impl Decision {
    /// Decides commands until the round is full. An error is a store error and ends the process.
    fn decide(
        &mut self,
        commands: &mut [AccountCommand],
        mut decisions: Decisions<'_>,
        reads: &ReadResults,
        context: &AccountContext,
    ) -> Result<RoundStep, StoreError> {
        let now = context.process.now();
        let mut unread = Vec::new();
        for command in commands {
            if decisions.is_full() {
                break;
            }
            let outcome = self.command(command, &mut decisions, context, now);
            // The loop goes on with the other commands, so that one read gets all unread records.
            unread.extend(decisions.unread());
            if unread.is_empty() {
                outcome?;
            }
            self.decided += 1;
        }
        if !unread.is_empty() {
            return Ok(RoundStep::Read(unread));
        }
        if let Some(operator) = &context.process.operator {
            decisions.report_low_balance(
                operator,
                || DeliveryId(context.process.ids.next(now)),
                now,
            );
        }
        let RoundOutcome {
            mut writes,
            deliveries,
            left_queue,
            change,
        } = decisions.finish()?;
        if let Some(queue) = &context.shared_queue {
            match queue.remove_ended(&left_queue, reads, &mut writes)? {
                Removal::Changes(changes) => self.queue_changes = changes,
                Removal::Unread(requests) => return Ok(RoundStep::Read(requests)),
            }
        }
        self.deliveries = deliveries;
        self.change = Some(change);
        Ok(RoundStep::Write(writes))
    }

    fn command(
        &mut self,
        command: &mut AccountCommand,
        decisions: &mut Decisions<'_>,
        context: &AccountContext,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        match command {
            AccountCommand::Accept { job, note, reply } => {
                let id = JobId(context.process.ids.next(now));
                let outcome = reply.decide(decisions.accept(id, job, now))?;
                self.accepted(id, job, outcome, note.as_ref(), decisions, now);
            }
            AccountCommand::AcceptBatch { batch, note, reply } => {
                let id = BatchId(context.process.ids.next(now));
                let jobs = batch.requests.iter();
                let jobs: Vec<JobId> = jobs.map(|_| JobId(context.process.ids.next(now))).collect();
                match reply.decide(decisions.accept_batch(id, &jobs, batch, now))? {
                    Ok(AcceptedBatch { replayed: true, .. }) => self.counts.count_replay(),
                    Ok(_) => {
                        self.queue_batch(&jobs, batch, decisions.account().id);
                        if let Some(note) = note {
                            decisions.record(&note(&id));
                        }
                    }
                    Err(_) => {}
                }
            }
            AccountCommand::CancelBatch { batch, note, reply } => {
                let is_canceled = reply.decide(decisions.cancel_batch(*batch, now))?.is_ok();
                if let Some(note) = note.as_ref().filter(|_| is_canceled) {
                    decisions.record(&note(batch));
                }
            }
            AccountCommand::Begin { job, reply } => {
                let max_runs = context.max_runs;
                let event = JobEvent::Begin { max_runs };
                self.apply(*job, event, reply, decisions, context, now)?;
                // The job ended before its turn came, perhaps on another node.
                if let Some(Err(_)) = &reply.outcome {
                    decisions.release_taken(*job);
                }
            }
            AccountCommand::Apply {
                job,
                event,
                note,
                reply,
            } => {
                self.apply(*job, event.clone(), reply, decisions, context, now)?;
                if let (Some(Ok(job)), Some(note)) = (&reply.outcome, note) {
                    decisions.record(&note(job));
                }
            }
            AccountCommand::Expire { job, due, reply } => {
                let entry = TransactionId(context.process.ids.next(now));
                let outcome = decisions.expire(*job, *due, entry, now);
                self.applied(*job, reply.decide(outcome)?, false, context, now);
            }
            AccountCommand::Deposit {
                deposit,
                note,
                reply,
            } => {
                let id = TransactionId(context.process.ids.next(now));
                let outcome = reply.decide(decisions.deposit(id, deposit, now))?;
                if let (Ok(entry), Some(note)) = (outcome, note)
                    && entry.id == id
                {
                    decisions.record(&note(entry));
                }
            }
            AccountCommand::Change {
                change,
                note,
                reply,
            } => {
                if let (Some(changed), Some(note)) = (decisions.change(change.clone())?, note) {
                    decisions.record(&note(&changed));
                }
                reply.decide(Ok(decisions.account().clone()))?;
            }
            AccountCommand::ChangeKey(change) => {
                let KeyChange {
                    key,
                    after,
                    writes,
                    reply,
                    ..
                } = &mut **change;
                decisions.change_key(*key, after.clone(), writes.clone());
                reply.decide(Ok(()))?;
            }
        }
        Ok(())
    }

    /// Collects the effects of an accepted job.
    fn accepted(
        &mut self,
        id: JobId,
        job: &NewJob,
        outcome: &Result<AcceptedJob, AcceptError>,
        note: Option<&Note<JobId>>,
        decisions: &mut Decisions<'_>,
        now: Timestamp,
    ) {
        match outcome {
            Ok(AcceptedJob { replayed: true, .. }) => return self.counts.count_replay(),
            Ok(_) => {}
            Err(_) => return,
        }
        let account = decisions.account().id;
        self.counts.accepted(job.tier, job.mode);
        self.queued.push(QueuedJob {
            job: id,
            account,
            tier: job.tier,
            lane: Lane::Single,
        });
        self.expiring.extend(job.cancel_after.map(|after| Expiry {
            due: now.plus(after),
            job: id,
            account,
        }));
        if let Some(note) = note {
            decisions.record(&note(&id));
        }
    }

    fn queue_batch(&mut self, jobs: &[JobId], batch: &NewBatch, account: AccountId) {
        for (job, request) in jobs.iter().zip(&batch.requests) {
            self.counts.accepted(request.tier, request.mode);
            self.queued.push(QueuedJob {
                job: *job,
                account,
                tier: request.tier,
                lane: Lane::Batch,
            });
        }
    }

    fn apply(
        &mut self,
        id: JobId,
        event: JobEvent,
        reply: &mut Reply<Job, EventError>,
        decisions: &mut Decisions<'_>,
        context: &AccountContext,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let begins = matches!(event, JobEvent::Begin { .. });
        let entry = TransactionId(context.process.ids.next(now));
        let outcome = reply.decide(decisions.apply(id, event, entry, now))?;
        self.applied(id, outcome, begins, context, now);
        Ok(())
    }

    /// Collects the effects of an event that changed a job.
    fn applied(
        &mut self,
        id: JobId,
        outcome: &Result<Job, EventError>,
        begins: bool,
        context: &AccountContext,
        now: Timestamp,
    ) {
        let Ok(job) = outcome else {
            return;
        };
        self.changed.push(id);
        self.counts.changed(job, begins, now);
        let is_observed = context.process.observer.is_some() && job.state.is_terminal();
        self.ended.extend(is_observed.then(|| job.clone()));
    }

    /// Announces the round, which is durable now.
    fn announce(self, commands: Vec<AccountCommand>, context: &AccountContext) {
        // Queues and counts first: a caller that reads them as soon as it has its answer finds its job there.
        if let Some(queue) = &context.shared_queue {
            queue.apply(self.queue_changes, context.queues.turns());
        }
        let was_empty = match &context.process.node {
            None => {
                if !self.expiring.is_empty() {
                    context.expiries.add_all(self.expiring);
                }
                context.queues.push_all(self.queued)
            }
            Some(node) => {
                if !self.queued.is_empty() {
                    node.take.notify_one();
                }
                false
            }
        };
        context.process.stats.jobs.add(&self.counts);
        commands.into_iter().for_each(|it| it.answer(Ok(())));
        if let Some(observer) = &context.process.observer {
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
}
