//! Deleted deliveries, jobs and batches, and the marks that distinguish them from lost ones.

use super::deliveries::{KnownDelivery, State, Step};
use super::money::DAY;
use super::{ChangedRecords, Model};
use std::collections::BTreeSet;
use tintype_storage::domain::delivery::DeliveryId;
use tintype_storage::domain::ids::{AccountId, BatchId, JobId};
use uuid::Uuid;

/// The deleted jobs and batches.
#[derive(Default)]
pub struct ForgottenJobs {
    deleted: BTreeSet<Uuid>,
    /// Jobs and batches that ended before this day may be deleted.
    pub(super) first_kept: Option<i64>,
    /// The day after the newest deleted one.
    mark: Option<i64>,
}

impl Model {
    /// The operator deletes the jobs and batches that ended before a day.
    pub fn ask_to_forget_jobs(&mut self, first_kept: i64) {
        let asked = &mut self.forgotten_jobs.first_kept;
        *asked = (*asked).max(Some(first_kept));
    }

    pub fn is_forgotten(&self, subject: Uuid) -> bool {
        self.forgotten_jobs.deleted.contains(&subject)
    }

    pub(super) fn job_forgotten(&mut self, id: JobId) {
        let known = self.jobs.get(&id);
        let ended_at = known.and_then(|it| it.ended_at);
        // The payload of a delivery needs the job, or the batch.
        let is_needed = match known.and_then(|it| it.batch) {
            Some(batch) => !self.is_forgotten(batch.0),
            None => self.deliveries.owed.contains_key(&DeliveryId(id.0)),
        };
        self.forgotten_once("job", id.0, ended_at, is_needed);
        self.count("jobs forgotten");
    }

    pub(super) fn batch_forgotten(
        &mut self,
        account: AccountId,
        id: BatchId,
        changed: &ChangedRecords,
    ) {
        let known = self.batches.get(&id).filter(|it| it.account == account);
        let ended_at = known.and_then(|it| it.ended_at);
        let is_whole =
            changed.progress.get(&(account, id)) == Some(&None) && changed.no_files.contains(&id);
        let is_needed = self.deliveries.owed.contains_key(&DeliveryId(id.0)) || !is_whole;
        self.forgotten_once("batch", id.0, ended_at, is_needed);
        self.count("batches forgotten");
    }

    fn forgotten_once(&mut self, what: &str, id: Uuid, ended_at: Option<i64>, is_needed: bool) {
        // Ids are ahead of a clock that was set back.
        let time_of_id = (id.as_u128() >> 80) as i64;
        let day = ended_at.map(|at| at.max(time_of_id).div_euclid(DAY));
        let is_old = day.is_some() && day < self.forgotten_jobs.first_kept;
        if !is_old || is_needed || !self.forgotten_jobs.deleted.insert(id) {
            self.fault(format!(
                "{what} {id} was deleted too early, incompletely or twice"
            ));
        }
        self.names.release(id);
        let mark = day.map(|day| (day + 1) * DAY);
        self.forgotten_jobs.mark = self.forgotten_jobs.mark.max(mark);
    }

    /// Checks that the mark is the day after the newest deleted job or batch.
    pub(super) fn jobs_forgotten_before(&mut self, mark: Option<i64>) {
        let newest = self.forgotten_jobs.mark;
        if mark.is_some() && mark != newest {
            self.fault(format!(
                "jobs before {mark:?} are marked as deleted, but the newest deleted one is before {newest:?}"
            ));
        }
    }

    /// Checks that the mark is just after the newest end of a deleted delivery.
    pub(super) fn forgotten_before(&mut self, mark: Option<i64>) {
        let deliveries = &mut self.deliveries;
        let newest = deliveries.newest_forgotten;
        deliveries.mark = mark.or(deliveries.mark);
        let mark = deliveries.mark;
        if mark != (newest > i64::MIN).then_some(newest + 1) {
            self.fault(format!(
                "deliveries before {mark:?} are marked as deleted, but the newest deleted one is of {newest}"
            ));
        }
    }

    pub(super) fn forgotten(
        &mut self,
        id: DeliveryId,
        before: &KnownDelivery,
        step: &mut Step<'_>,
    ) {
        let ended = match before.state {
            State::Pending { .. } => i64::MAX,
            // Or the end of its job, if that is later.
            State::Delivered { at } | State::Failed { at, .. } => at.max(before.created_at),
        };
        self.deliveries.newest_forgotten = self.deliveries.newest_forgotten.max(ended);
        let mut whole = step.accounts.remove(&id) == Some(None);
        for number in 0..before.attempts {
            whole &= matches!(step.attempts.remove(&(id, number)), Some(None));
        }
        if ended >= self.deliveries.forget_before || !whole {
            self.fault(format!(
                "delivery {id} was deleted too early or incompletely: {before:?}"
            ));
        }
        self.count("deliveries forgotten");
        self.deliveries.owed.remove(&id);
    }
}
