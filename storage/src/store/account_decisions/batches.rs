//! Decisions about batches: accept all or none, count and charge each job, report the end once.

use super::Decisions;
use super::admission::AdmissionRequest;
use super::owed_delivery::OwedDelivery;
use crate::domain::batch::{Batch, BatchProgress};
use crate::domain::batch_member::BatchMember;
use crate::domain::delivery::{Delivery, DeliveryId, DeliveryKind};
use crate::domain::file_batch::{DeletedResults, FileBatch, FileBatchTerms, Validation};
use crate::domain::ids::{BatchId, JobId};
use crate::domain::job::{Job, JobEvent, JobState, Origin, Step};
use crate::domain::time::Timestamp;
use crate::store::commands::{AcceptError, AcceptedBatch, BatchError, NewBatch, NewBatchJob};
use crate::store::tables::{BATCH_PROGRESS, BATCHES, FILE_BATCHES};
use crate::store::{Gather as _, IdempotentCall, Made, StoreError};

/// The effect of a job's step on its batch.
pub(super) struct BatchStep {
    pub batch: BatchId,
    pub progress: BatchProgress,
    /// The delivery of the batch's event.
    pub delivery: Option<Delivery>,
}

impl Decisions<'_> {
    /// Accepts a batch under `id` at `now`, its jobs under `jobs`, which must rise; or refuses it.
    pub fn accept_batch(
        &mut self,
        id: BatchId,
        jobs: &[JobId],
        new: &NewBatch,
        now: Timestamp,
    ) -> Result<AcceptedBatch, AcceptError> {
        let models = new.models();
        let admission = AdmissionRequest {
            key: new.key,
            shown: new.shown.as_ref(),
            account_rate_limit: new.account_rate_limit,
            models: &models,
            jobs: new.requests.len(),
            price: new.price,
        };
        let key = self.check_key(&admission, now)?;
        let (call, used) = (IdempotentCall::Submission, new.idempotency.as_ref());
        match self.first_use(call, used, now)? {
            Some(Some(Made::Batch(batch))) => {
                let replayed = true;
                return Ok(AcceptedBatch { batch, replayed });
            }
            Some(_) => return Err(AcceptError::KeyReused),
            None => {}
        }
        let served = self.served_turns(admission.models)?;
        let balances = self.admit(&admission, &key.1, now)?;
        let (Some(first), Some(last)) = (jobs.first(), jobs.last()) else {
            return Err(self.inconsistent("a batch has no requests").into());
        };
        let batch = Batch {
            id,
            account: self.next.account.id,
            key: new.key,
            first: *first,
            last: *last,
            total: count(jobs.len()),
            price: new.price,
            text: new.text.clone(),
            callback: new.callback.clone(),
            created_at: now,
        };
        self.next.account.balances = balances;
        for (index, (job, request)) in jobs.iter().zip(&new.requests).enumerate() {
            self.add_job(&job_of(&batch, *job, count(index), request), &served);
        }
        self.record_id(id.0);
        self.records.put(BATCHES.put(&(batch.account, id), &batch));
        if let Some(terms) = &new.file {
            let file_batch = file_batch_of(&batch, terms.clone());
            let key = (batch.account, id);
            self.records.put(FILE_BATCHES.put(&key, &file_batch));
        }
        let progress = BatchProgress::of_new(batch.total);
        self.next.progress.insert(id, progress);
        self.remember(used, Made::Batch(id), now);
        Ok(AcceptedBatch {
            batch: id,
            replayed: false,
        })
    }

    /// Cancels the queued jobs of a batch: none of them starts after this. Each job ends with its own event.
    pub fn cancel_batch(
        &mut self,
        id: BatchId,
        now: Timestamp,
    ) -> Result<BatchProgress, BatchError> {
        let progress = self.batch_progress(id)?.ok_or(BatchError::NotFound)?;
        let canceled = progress.canceled(now);
        if canceled != progress {
            self.next.progress.insert(id, canceled);
        }
        Ok(canceled)
    }

    /// Turns the start of a queued job of a canceled batch, and its end at a restart, into its cancellation.
    pub(super) fn cancel_if_batch_is_canceled(
        &mut self,
        job: &Job,
        event: JobEvent,
    ) -> Result<JobEvent, StoreError> {
        let leaves_queue = matches!(
            (&job.state, &event),
            (
                JobState::Queued,
                JobEvent::Begin { .. }
                    | JobEvent::Abandon
                    | JobEvent::Unserved
                    | JobEvent::Expire { .. }
            )
        );
        let Some(member) = job.member().filter(|_| leaves_queue) else {
            return Ok(event);
        };
        let progress = self.batch_progress(member.batch)?;
        let is_canceled = progress.is_some_and(|it| it.canceled_at.is_some());
        Ok(if is_canceled { JobEvent::Cancel } else { event })
    }

    /// The effect of a job's step on its batch; `None` for a job without a batch.
    pub(super) fn batch_step(
        &mut self,
        before: &Job,
        step: &Step,
        now: Timestamp,
    ) -> Result<Option<BatchStep>, StoreError> {
        let Some(BatchMember { batch, .. }) = before.member() else {
            return Ok(None);
        };
        let at = step.job.state.finished_at().unwrap_or(now);
        let progress = self.batch_progress(*batch)?;
        let after =
            progress.and_then(|it| it.after(&before.state, &step.job.state, before.price, at));
        let Some(progress) = after else {
            let fault = format!(
                "the progress of batch {batch} does not fit job {}",
                before.id
            );
            return Err(self.inconsistent(fault));
        };
        let delivery = match progress.ended_at {
            Some(_) => self.delivery_of_batch(*batch, at, now)?,
            None => None,
        };
        Ok(Some(BatchStep {
            batch: *batch,
            progress,
            delivery,
        }))
    }

    fn delivery_of_batch(
        &mut self,
        id: BatchId,
        ended: Timestamp,
        now: Timestamp,
    ) -> Result<Option<Delivery>, StoreError> {
        let account = self.next.account.id;
        let batch = self.records.read(&BATCHES, &(account, id));
        let (batch, webhooks) = (batch, self.records.webhooks(account)).gather()?;
        let batch = batch.ok_or_else(|| self.inconsistent(format!("batch {id} is missing")))?;
        let owed = OwedDelivery {
            id: DeliveryId(id.0),
            account: batch.account,
            kind: DeliveryKind::Batch,
            callback: batch.callback.as_ref(),
        };
        Ok(owed.into_delivery(&webhooks, ended, now))
    }

    pub(super) fn batch_progress(
        &mut self,
        id: BatchId,
    ) -> Result<Option<BatchProgress>, StoreError> {
        let known = self.next.progress.get(&id).or(self.state.progress.get(&id));
        if let Some(progress) = known {
            return Ok(Some(*progress));
        }
        self.records
            .read(&BATCH_PROGRESS, &(self.next.account.id, id))
    }
}

fn file_batch_of(batch: &Batch, terms: FileBatchTerms) -> FileBatch {
    FileBatch {
        id: batch.id,
        account: batch.account,
        key: batch.key,
        terms,
        created_at: batch.created_at,
        outcome: Validation::Accepted {
            deleted: DeletedResults::default(),
        },
    }
}

fn job_of(batch: &Batch, id: JobId, index: u32, request: &NewBatchJob) -> Job {
    Job {
        id,
        account: batch.account,
        key: batch.key,
        tier: request.tier,
        mode: request.mode,
        aspect: request.aspect,
        ratio: request.ratio,
        resolution: request.resolution,
        prompt: request.prompt.clone(),
        callback: None,
        origin: Origin::Batch(Box::new(BatchMember {
            batch: batch.id,
            index,
            custom_id: request.custom_id.clone(),
            input_urls: request.input_urls.clone(),
        })),
        inputs: Vec::new(),
        price: request.price,
        created_at: batch.created_at,
        state: JobState::Queued,
        options: request.options.recorded(),
    }
}

/// A call holds far fewer requests than this type can count.
fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
