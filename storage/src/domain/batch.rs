//! A batch: many requests in one call, accepted all or none.

use super::amount::Amount;
use super::ids::{AccountId, BatchId, JobId, KeyId};
use super::job::{Callback, JobState, PromptRef, PromptText};
use super::named_enum::named_enum;
use super::time::Timestamp;
use serde::{Deserialize, Serialize};

/// The accepted batch. Only its erasure changes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// Sorts by time of acceptance.
    pub id: BatchId,
    pub account: AccountId,
    pub key: KeyId,
    /// The job of the first request. Job ids rise in the order of the requests, and no other job of the account has an id
    /// between `first` and `last`.
    pub first: JobId,
    pub last: JobId,
    pub total: u32,
    /// The sum of the jobs' prices.
    pub price: Amount,
    /// The caller's object, stored as metadata; the prompt is empty.
    pub text: PromptRef,
    /// The webhook that the caller named for the batch's event.
    pub callback: Option<Callback>,
    pub created_at: Timestamp,
}

impl Batch {
    /// The batch without the texts of its caller.
    pub fn erased(&self) -> Self {
        Self {
            text: PromptRef::Inline(PromptText::default()),
            callback: self.callback.as_ref().map(Callback::erased),
            ..self.clone()
        }
    }

    /// Has the batch no metadata? True of each erased one.
    pub fn is_without_metadata(&self) -> bool {
        self.text == PromptRef::Inline(PromptText::default())
    }
}

/// Changes in the commits that change the batch's jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchProgress {
    pub queued: u32,
    pub processing: u32,
    pub done: u32,
    pub failed: u32,
    /// The sum of the prices of the done jobs.
    pub charged: Amount,
    /// When the caller canceled the batch. No queued job starts after that.
    pub canceled_at: Option<Timestamp>,
    /// When the last job became terminal.
    pub ended_at: Option<Timestamp>,
}

named_enum!(
    BatchStatus {
        /// Some jobs are queued or running.
        InProgress = "in_progress",
        /// Canceled; queued jobs are being canceled.
        Canceling = "canceling",
        /// All jobs are terminal.
        Ended = "ended",
    }
);

impl BatchProgress {
    pub fn of_new(total: u32) -> Self {
        Self {
            queued: total,
            processing: 0,
            done: 0,
            failed: 0,
            charged: Amount::ZERO,
            canceled_at: None,
            ended_at: None,
        }
    }

    pub fn status(&self) -> BatchStatus {
        match (self.ended_at, self.canceled_at) {
            (Some(_), _) => BatchStatus::Ended,
            (None, Some(_)) => BatchStatus::Canceling,
            (None, None) => BatchStatus::InProgress,
        }
    }

    pub fn total(&self) -> u64 {
        [self.queued, self.processing, self.done, self.failed]
            .into_iter()
            .map(u64::from)
            .sum()
    }

    /// Counts the step of a job with this price from one state to another at `at`, and charges the price if the job becomes
    /// done. `None` if the counts are inconsistent.
    pub fn after(
        &self,
        before: &JobState,
        now: &JobState,
        price: Amount,
        at: Timestamp,
    ) -> Option<Self> {
        let mut next = *self;
        let count = next.count_of(before);
        *count = count.checked_sub(1)?;
        let count = next.count_of(now);
        *count = count.checked_add(1)?;
        let is_done = |state: &JobState| matches!(state, JobState::Done { .. });
        if is_done(now) && !is_done(before) {
            next.charged = next.charged.plus(price).ok()?;
        }
        if next.queued == 0 && next.processing == 0 {
            next.ended_at = next.ended_at.or(Some(at));
        }
        Some(next)
    }

    /// Marks the batch as canceled. An ended batch does not change.
    pub fn canceled(&self, now: Timestamp) -> Self {
        match self.ended_at {
            Some(_) => *self,
            None => Self {
                canceled_at: self.canceled_at.or(Some(now)),
                ..*self
            },
        }
    }

    fn count_of(&mut self, state: &JobState) -> &mut u32 {
        match state {
            JobState::Queued => &mut self.queued,
            JobState::Processing { .. } => &mut self.processing,
            JobState::Done { .. } => &mut self.done,
            JobState::Failed { .. } => &mut self.failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::job::{CANCELED, FailureKind, ResultImage};

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn processing() -> JobState {
        JobState::Processing {
            started_at: at(1),
            runs: 1,
        }
    }

    fn done() -> JobState {
        JobState::Done {
            started_at: at(1),
            finished_at: at(2),
            image: ResultImage {
                key: "a.png".into(),
                bytes: 9,
                width: 16,
                height: 9,
                backend: None,
            },
        }
    }

    fn price(text: &str) -> Amount {
        text.parse().expect("an amount")
    }

    fn failed() -> JobState {
        JobState::Failed {
            started_at: None,
            finished_at: at(2),
            error: CANCELED.into(),
            kind: FailureKind::Canceled,
        }
    }

    #[test]
    fn a_batch_ends_with_its_last_job() {
        let new = BatchProgress::of_new(2);
        let moved = |it: BatchProgress, from: &JobState, to: &JobState, moment| {
            it.after(from, to, price("0.10"), at(moment))
                .expect("a step")
        };
        let one = moved(new, &JobState::Queued, &processing(), 5);
        let again = moved(one, &processing(), &processing(), 6);
        assert_eq!((again.queued, again.processing), (1, 1), "a further run");
        let one = moved(again, &processing(), &failed(), 7);
        assert_eq!(
            (one.status(), one.ended_at),
            (BatchStatus::InProgress, None)
        );
        let two = moved(one, &JobState::Queued, &failed(), 8);
        assert_eq!(
            (two.status(), two.ended_at),
            (BatchStatus::Ended, Some(at(8)))
        );
        assert_eq!((two.failed, two.total()), (2, 2));
        assert_eq!(two.charged, Amount::ZERO);
        let more = two.after(&JobState::Queued, &failed(), price("0.10"), at(9));
        assert_eq!(more, None);
    }

    #[test]
    fn a_batch_is_charged_for_each_job_when_it_becomes_done() {
        let step = |it: &BatchProgress, from: &JobState, to: &JobState, of: &str| {
            it.after(from, to, price(of), at(5))
        };
        let new = BatchProgress::of_new(3);
        assert_eq!(new.charged, Amount::ZERO);
        let mut progress = new;
        for (from, to, of, charged) in [
            (JobState::Queued, processing(), "0.039", "0"),
            (processing(), processing(), "0.039", "0"),
            (processing(), done(), "0.039", "0.039"),
            (JobState::Queued, processing(), "0.134", "0.039"),
            (processing(), failed(), "0.134", "0.039"),
            (JobState::Queued, processing(), "0.24", "0.039"),
            (processing(), done(), "0.24", "0.279"),
        ] {
            progress = step(&progress, &from, &to, of).expect("a step");
            assert_eq!(progress.charged, price(charged), "{from:?} to {to:?}");
        }
        let again = step(&progress, &done(), &done(), "0.24").expect("a step");
        assert_eq!(again.charged, price("0.279"), "charged once");
        let too_much = BatchProgress {
            charged: price("999999999999999"),
            ..new
        };
        assert_eq!(step(&too_much, &JobState::Queued, &done(), "1"), None);
    }

    #[test]
    fn a_canceled_batch_is_canceling_until_it_ends() {
        let new = BatchProgress::of_new(1);
        let canceled = new.canceled(at(3)).canceled(at(4));
        assert_eq!(canceled.canceled_at, Some(at(3)));
        assert_eq!(canceled.status(), BatchStatus::Canceling);
        let ended = canceled.after(&JobState::Queued, &failed(), price("0.10"), at(5));
        let ended = ended.expect("a step");
        assert_eq!(ended.status(), BatchStatus::Ended);
        assert_eq!(ended.canceled(at(9)), ended);
    }
}
