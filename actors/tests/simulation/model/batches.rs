//! Batches: their records, their counts and their ends.

use super::records::{KeyUse, millionths};
use super::{ChangedRecords, JobStatus, Model};
use std::collections::{BTreeMap, BTreeSet};
use tintype_storage::domain::batch::{Batch, BatchProgress};
use tintype_storage::domain::ids::{AccountId, BatchId, JobId};
use tintype_storage::domain::job::PromptRef;
use tintype_storage::domain::webhook::WebhookId;
use tintype_storage::store::Made;

pub struct KnownBatch {
    /// In the order of acceptance over the whole scenario.
    pub number: usize,
    pub account: AccountId,
    pub request: usize,
    jobs: Vec<JobId>,
    /// Queued, processing, done and failed jobs after the last commit.
    counts: [u32; 4],
    /// Has a caller sent its cancellation?
    pub cancel_asked: bool,
    /// Is the cancellation durable?
    pub canceled: bool,
    /// Was it durable before the current commit? In one commit, jobs may begin before their batch is canceled.
    pub was_canceled: bool,
    pub ended: bool,
    pub(super) ended_at: Option<i64>,
}

/// A job that a commit has accepted for a batch.
pub struct JoinedJob {
    pub batch: BatchId,
    pub job: JobId,
    pub index: u32,
}

/// A batch that has ended in a commit.
pub struct BatchEnd {
    pub batch: BatchId,
    pub account: AccountId,
    pub at: i64,
    pub callback: Option<(WebhookId, String)>,
}

impl Model {
    /// Applies the cancellations of a commit, before its job changes.
    pub(super) fn cancellations(&mut self, changed: &ChangedRecords) {
        for known in self.batches.values_mut() {
            known.was_canceled = known.canceled;
        }
        for ((_, id), progress) in &changed.progress {
            let (Some(progress), Some(known)) = (progress, self.batches.get_mut(id)) else {
                continue;
            };
            let is_canceled = progress.canceled_at.is_some();
            let fault = match (known.canceled, is_canceled) {
                (false, true) if !known.cancel_asked => Some("but no caller canceled it"),
                (true, false) => Some("but it was canceled before"),
                _ => None,
            };
            if is_canceled && !known.canceled {
                known.canceled = true;
                self.count("batches canceled");
            }
            if let Some(fault) = fault {
                self.fault(format!("batch {id} is canceled: {is_canceled}, {fault}"));
            }
        }
    }

    /// Checks new batches, and the counts of the batches whose jobs this commit has changed.
    pub(super) fn batches_step(
        &mut self,
        changed: &mut ChangedRecords,
        trace: &mut Vec<String>,
    ) -> Vec<BatchEnd> {
        let mut joined: BTreeMap<BatchId, Vec<JoinedJob>> = BTreeMap::new();
        for it in std::mem::take(&mut self.joined) {
            joined.entry(it.batch).or_default().push(it);
        }
        for ((account, id), record) in std::mem::take(&mut changed.batches) {
            let jobs = joined.remove(&id).unwrap_or_default();
            match record {
                Some(batch) if !self.batches.contains_key(&id) && batch.account == account => {
                    self.batch_accepted(&batch, &jobs, changed, trace);
                }
                None => self.batch_forgotten(account, id, changed),
                record => self.fault(format!("batch {id} was changed to {record:?}")),
            }
        }
        for id in joined.keys() {
            self.fault(format!("jobs joined batch {id}, which does not exist"));
        }
        let mut ends = Vec::new();
        let mut written = std::mem::take(&mut changed.progress);
        let ids: Vec<BatchId> = self.batches.keys().copied().collect();
        for id in ids {
            let (account, before) = (self.batches[&id].account, self.batches[&id].counts);
            let counts = self.counts_of(id);
            let record = written.remove(&(account, id)).flatten();
            if record.is_none() && counts != before {
                self.fault(format!(
                    "batch {id} has {counts:?}, its record was not changed"
                ));
            }
            if let Some(record) = record {
                ends.extend(self.progressed(id, counts, &record));
            }
        }
        for (id, record) in written {
            self.fault(format!(
                "the progress of batch {id:?} was changed to {record:?}"
            ));
        }
        ends
    }

    fn counts_of(&self, id: BatchId) -> [u32; 4] {
        let mut counts = [0; 4];
        for job in &self.batches[&id].jobs {
            counts[match self.jobs[job].status {
                JobStatus::Queued => 0,
                JobStatus::Processing { .. } => 1,
                JobStatus::Done => 2,
                JobStatus::Failed => 3,
            }] += 1;
        }
        counts
    }

    /// The prices of the done jobs.
    fn charged_of(&self, id: BatchId) -> i64 {
        let jobs = self.batches[&id].jobs.iter().map(|job| &self.jobs[job]);
        jobs.filter(|job| job.is_done()).map(|job| job.price).sum()
    }

    fn progressed(
        &mut self,
        id: BatchId,
        counts: [u32; 4],
        record: &BatchProgress,
    ) -> Option<BatchEnd> {
        let found = [record.queued, record.processing, record.done, record.failed];
        if found != counts {
            self.fault(format!("batch {id} counts {found:?}, its jobs {counts:?}"));
        }
        let (found, charged) = (millionths(record.charged), self.charged_of(id));
        if found != charged {
            self.fault(format!(
                "batch {id} was charged {found}, its done jobs cost {charged}"
            ));
        }
        let is_over = counts[0] == 0 && counts[1] == 0;
        let known = self.batches.get_mut(&id)?;
        known.counts = counts;
        let (request, was_ended) = (known.request, known.ended);
        known.ended = is_over;
        known.ended_at = record.ended_at.map(|at| at.millis());
        if is_over != record.ended_at.is_some() || was_ended {
            self.fault(format!("batch {id} with jobs {counts:?} is {record:?}"));
        }
        let at = record.ended_at?.millis();
        self.count("batches ended");
        let asked = &self.requests[request];
        Some(BatchEnd {
            batch: id,
            account: asked.account,
            at,
            callback: asked.callback.clone(),
        })
    }

    fn batch_accepted(
        &mut self,
        batch: &Batch,
        joined: &[JoinedJob],
        changed: &mut ChangedRecords,
        trace: &mut Vec<String>,
    ) {
        let number = match &batch.text {
            PromptRef::Inline(words) => words.metadata.as_deref(),
            PromptRef::Stored(_) => None,
        };
        let number = number.and_then(|it| it.parse::<usize>().ok());
        let Some((request, asked)) =
            number.and_then(|it| Some((it, self.requests.get(it)?.clone())))
        else {
            return self.fault(format!("no request explains batch {}", batch.id));
        };
        let jobs: Vec<JobId> = joined.iter().map(|it| it.job).collect();
        let indices: Vec<u32> = joined.iter().map(|it| it.index).collect();
        let in_order: Vec<u32> = (0..batch.total).collect();
        let ends = [jobs.first(), jobs.last()];
        let callback = batch
            .callback
            .as_ref()
            .map(|it| (it.webhook, it.url.clone()));
        let as_asked = batch.account == asked.account
            && batch.key == asked.key
            && Some(batch.total) == asked.size
            && millionths(batch.price) == asked.price
            && callback == asked.callback;
        if !as_asked || indices != in_order || ends != [Some(&batch.first), Some(&batch.last)] {
            self.fault(format!(
                "request {request} was accepted with other fields: {batch:?} with {indices:?}"
            ));
        }
        let at = batch.created_at.millis();
        if let Some(name) = &asked.name {
            let used = KeyUse {
                account: batch.account,
                call: b's',
                name: name.clone(),
                expires_at: at + self.rules.retention,
            };
            self.name_recorded(&used, Made::Batch(batch.id), at, changed);
        } else if asked.made.len() as u64 >= asked.issues {
            self.fault(format!(
                "request {request} was sent {} times and has one batch more",
                asked.issues
            ));
        }
        let number = self.batches.len();
        trace.push(format!("batch {number} accepted for request {request}"));
        self.count("batches accepted");
        self.requests[request].made.push(batch.id.0);
        let known = KnownBatch {
            number,
            account: batch.account,
            request,
            jobs,
            counts: [0; 4],
            cancel_asked: false,
            canceled: false,
            was_canceled: false,
            ended: false,
            ended_at: None,
        };
        self.batches.insert(batch.id, known);
    }

    /// Batches that have neither ended nor been canceled.
    pub fn open_batches(&self) -> Vec<(BatchId, AccountId)> {
        let open = self
            .batches
            .iter()
            .filter(|(_, it)| !it.ended && !it.canceled);
        open.map(|(id, it)| (*id, it.account)).collect()
    }

    pub fn cancel_batch_asked(&mut self, batch: BatchId) {
        if let Some(known) = self.batches.get_mut(&batch) {
            known.cancel_asked = true;
        }
    }

    pub fn cancel_batch_answered(&mut self, batch: BatchId) {
        let is_so = self
            .batches
            .get(&batch)
            .is_some_and(|it| it.canceled || it.ended);
        if !is_so {
            self.fault(format!(
                "the cancellation of batch {batch} was answered too early"
            ));
        }
    }

    /// Does the condition hold for the batch of a job?
    pub(super) fn of_batch(&self, job: JobId, holds: impl Fn(&KnownBatch) -> bool) -> bool {
        let batch = self.jobs.get(&job).and_then(|it| it.batch);
        batch
            .and_then(|it| self.batches.get(&it))
            .is_some_and(holds)
    }

    pub(super) fn unfinished_batches(&self) -> BTreeSet<String> {
        let open = self.batches.iter().filter(|(_, it)| !it.ended);
        open.map(|(id, it)| format!("batch {id} never ended: {:?}", it.counts))
            .collect()
    }
}
