//! Decides the commands of a round, each on the outcome of those before it, and collects what to announce.

use super::AccountContext;
use super::announcements::Announcements;
use super::command::{AccountCommand, ChangeKey, Reply};
use crate::queue::{Lane, QueuedJob};
use tintype_storage::domain::audit_log::ToAuditEntry;
use tintype_storage::domain::ids::{BatchId, JobId, TransactionId};
use tintype_storage::domain::job::{Job, JobEvent};
use tintype_storage::domain::ledger::LedgerEntry;
use tintype_storage::domain::tier::{Mode, Tier};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::store::{
    AcceptError, AcceptedBatch, AcceptedJob, Decisions, EventError, NewBatch, NewJob, StoreError,
};
use uuid::Uuid;

pub struct CommandDecider<'a> {
    pub decisions: Decisions<'a>,
    pub announcements: Announcements,
    pub context: &'a AccountContext,
    pub now: Timestamp,
}

impl CommandDecider<'_> {
    pub fn decide(&mut self, command: &mut AccountCommand) -> Result<(), StoreError> {
        match command {
            AccountCommand::Accept {
                job,
                to_entry,
                reply,
            } => self.accept(job, to_entry.as_ref(), reply)?,
            AccountCommand::AcceptBatch {
                batch,
                to_entry,
                reply,
            } => {
                self.accept_batch(batch, to_entry.as_ref(), reply)?;
            }
            AccountCommand::CancelBatch {
                batch,
                to_entry,
                reply,
            } => {
                let outcome = self.decisions.cancel_batch(*batch, self.now);
                if reply.set_outcome(outcome)?.is_ok() {
                    self.record(to_entry.as_ref(), batch);
                }
            }
            AccountCommand::Apply {
                job,
                event,
                to_entry,
                reply,
            } => self.apply(*job, event, to_entry.as_ref(), reply)?,
            AccountCommand::Deposit {
                deposit,
                to_entry,
                reply,
            } => {
                let id = TransactionId(self.next_id());
                let outcome = self.decisions.deposit(id, deposit, self.now);
                self.record_deposit(id, reply.set_outcome(outcome)?, to_entry.as_ref());
            }
            AccountCommand::Refund {
                refund,
                to_entry,
                reply,
            } => {
                let id = TransactionId(self.next_id());
                let outcome = self.decisions.refund(id, refund, self.now);
                self.record_deposit(id, reply.set_outcome(outcome)?, to_entry.as_ref());
            }
            AccountCommand::Change {
                change,
                to_entry,
                reply,
            } => {
                if let Some(changed) = self.decisions.change(change.clone())? {
                    self.record(to_entry.as_ref(), &changed);
                }
                reply.set_outcome(Ok(self.decisions.account().clone()))?;
            }
            AccountCommand::ChangeKey(change) => {
                let ChangeKey {
                    key,
                    after,
                    writes,
                    reply,
                    ..
                } = &mut **change;
                self.decisions
                    .change_key(*key, after.clone(), writes.clone());
                reply.set_outcome(Ok(()))?;
            }
            AccountCommand::Barrier { reply } => {
                reply.set_outcome(Ok(()))?;
            }
        }
        Ok(())
    }

    /// Adds the audit entry of a change that an operator or a person made.
    fn record<T>(&mut self, to_entry: Option<&ToAuditEntry<T>>, changed: &T) {
        if let Some(to_entry) = to_entry {
            self.decisions.record(&to_entry(changed));
        }
    }

    fn next_id(&self) -> Uuid {
        self.context.process.ids.next(self.now)
    }

    fn accept(
        &mut self,
        job: &NewJob,
        to_entry: Option<&ToAuditEntry<JobId>>,
        reply: &mut Reply<AcceptedJob, AcceptError>,
    ) -> Result<(), StoreError> {
        let id = JobId(self.next_id());
        match reply.set_outcome(self.decisions.accept(id, job, self.now))? {
            Ok(AcceptedJob { replayed: true, .. }) => self.announcements.counts.count_replay(),
            Ok(_) => {
                self.queue(id, job.tier, job.mode, Lane::Single);
                self.record(to_entry, &id);
            }
            Err(_) => {}
        }
        Ok(())
    }

    fn accept_batch(
        &mut self,
        batch: &NewBatch,
        to_entry: Option<&ToAuditEntry<BatchId>>,
        reply: &mut Reply<AcceptedBatch, AcceptError>,
    ) -> Result<(), StoreError> {
        let id = BatchId(self.next_id());
        let jobs = batch.requests.iter().map(|_| JobId(self.next_id()));
        let jobs: Vec<JobId> = jobs.collect();
        let outcome = self.decisions.accept_batch(id, &jobs, batch, self.now);
        match reply.set_outcome(outcome)? {
            Ok(AcceptedBatch { replayed: true, .. }) => self.announcements.counts.count_replay(),
            Ok(_) => {
                for (job, request) in jobs.iter().zip(&batch.requests) {
                    self.queue(*job, request.tier, request.mode, Lane::Batch);
                }
                self.record(to_entry, &id);
            }
            Err(_) => {}
        }
        Ok(())
    }

    fn queue(&mut self, job: JobId, tier: Tier, mode: Mode, lane: Lane) {
        self.announcements.counts.accepted(tier, mode);
        self.announcements.queued.push(QueuedJob {
            job,
            account: self.decisions.account().id,
            tier,
            lane,
        });
    }

    /// Adds the audit entry of a deposit or refund with the new `id`. A replayed one has the id of the first one.
    fn record_deposit<E>(
        &mut self,
        id: TransactionId,
        outcome: &Result<LedgerEntry, E>,
        to_entry: Option<&ToAuditEntry<LedgerEntry>>,
    ) {
        if let Some(entry) = outcome.as_ref().ok().filter(|it| it.id == id) {
            self.record(to_entry, entry);
        }
    }

    fn apply(
        &mut self,
        id: JobId,
        event: &JobEvent,
        to_entry: Option<&ToAuditEntry<Job>>,
        reply: &mut Reply<Job, EventError>,
    ) -> Result<(), StoreError> {
        let begins = matches!(event, JobEvent::Begin { .. });
        let entry = TransactionId(self.next_id());
        let outcome = self.decisions.apply(id, event.clone(), entry, self.now);
        match reply.set_outcome(outcome)? {
            Ok(job) => {
                let announcements = &mut self.announcements;
                announcements.changed.push(id);
                announcements.counts.changed(job, begins, self.now);
                if self.context.process.observer.is_some() && job.state.is_terminal() {
                    announcements.ended.push(job.clone());
                }
                self.record(to_entry, job);
            }
            // The job ended before its turn came, perhaps on another node.
            Err(_) if begins => self.decisions.release_taken(id),
            Err(_) => {}
        }
        Ok(())
    }
}
