//! Commands to an account, and their replies.

use super::StoreError;
use crate::domain::account::Account;
use crate::domain::account_limits::AccountLimits;
use crate::domain::amount::Amount;
use crate::domain::api_key::RateLimit;
use crate::domain::aspect_ratio::{AspectChoice, AspectRatio};
use crate::domain::batch_member::InputUrls;
use crate::domain::caller::{CallerRefusal, PresentedKey};
use crate::domain::file_batch::FileBatchTerms;
use crate::domain::ids::{BatchId, JobId, KeyId};
use crate::domain::image_options::ImageOptions;
use crate::domain::job::{Callback, InputImage, Origin, PromptRef, TransitionError};
use crate::domain::ledger::LedgerError;
use crate::domain::pause::ActivePause;
use crate::domain::request::Fingerprint;
use crate::domain::spending::LimitReached;
use crate::domain::tier::{Mode, Resolution, Tier};
use std::time::Duration;

#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Jobs of one account that are not terminal.
    pub max_live_per_account: usize,
    /// Of the keys of callers; see [`IdempotentCall::retention`](super::IdempotentCall::retention).
    pub idempotency_retention: Duration,
}

impl Limits {
    /// The live jobs that an account with these limits may have.
    pub fn max_live(&self, of_account: &AccountLimits) -> usize {
        let most = self.max_live_per_account;
        of_account
            .max_concurrent
            .map_or(most, |it| most.min(it as usize))
    }
}

/// The live jobs of an account and of one of its keys, with their limits.
#[derive(Clone, Copy, Debug)]
pub struct LiveJobs {
    pub of_account: usize,
    pub max_of_account: usize,
    pub of_key: usize,
    /// `None` means unlimited.
    pub max_of_key: Option<u32>,
}

impl LiveJobs {
    /// Refuses `jobs` more jobs that would exceed a limit.
    ///
    /// # Errors
    /// [`AcceptError::TooManyLive`], [`AcceptError::TooManyLiveOfKey`].
    pub fn admit(&self, jobs: usize) -> Result<(), AcceptError> {
        let (live, most) = (self.of_account, self.max_of_account);
        if live + jobs > most {
            return Err(AcceptError::TooManyLive { live, jobs, most });
        }
        let live = self.of_key;
        match self.max_of_key.map(|most| most as usize) {
            Some(most) if live + jobs > most => {
                Err(AcceptError::TooManyLiveOfKey { live, jobs, most })
            }
            _ => Ok(()),
        }
    }
}

/// A job to accept, without id and time.
#[derive(Clone, Debug)]
pub struct NewJob {
    /// The decision checks the key's current record.
    pub key: KeyId,
    /// `None` for calls from the panel, where a person submits.
    pub shown: Option<PresentedKey>,
    /// The account's rate limit when the call was counted.
    pub account_rate_limit: Option<RateLimit>,
    pub tier: Tier,
    pub mode: Mode,
    /// As requested.
    pub aspect: AspectChoice,
    /// The ratio to generate.
    pub ratio: AspectRatio,
    pub resolution: Resolution,
    pub prompt: PromptRef,
    /// The receiver of the job's event.
    pub callback: Option<Callback>,
    pub origin: Origin,
    /// The object store holds these images already.
    pub inputs: Vec<InputImage>,
    pub price: Amount,
    pub options: ImageOptions,
    /// The job fails if it is still queued after this time.
    pub cancel_after: Option<Duration>,
    pub idempotency: Option<IdempotencyUse>,
}

/// A batch to accept, without ids and time.
#[derive(Clone, Debug)]
pub struct NewBatch {
    /// The decision checks the key's current record.
    pub key: KeyId,
    /// `None` for calls from the panel, where a person submits.
    pub shown: Option<PresentedKey>,
    /// The account's rate limit when the call was counted.
    pub account_rate_limit: Option<RateLimit>,
    /// At least one.
    pub requests: Vec<NewBatchJob>,
    /// The sum of the requests' prices.
    pub price: Amount,
    /// The caller's object, stored as metadata; the prompt is empty.
    pub text: PromptRef,
    /// The receiver of the batch's event.
    pub callback: Option<Callback>,
    pub idempotency: Option<IdempotencyUse>,
    /// `None` unless the batch was submitted as a file.
    pub file: Option<FileBatchTerms>,
}

impl NewBatch {
    /// Each once.
    pub fn models(&self) -> Vec<Tier> {
        let mut models = Tier::ALL.to_vec();
        models.retain(|tier| self.requests.iter().any(|it| it.tier == *tier));
        models
    }
}

#[derive(Clone, Debug)]
pub struct NewBatchJob {
    /// The caller's name for the request; `None` if it equals the index.
    pub custom_id: Option<String>,
    pub tier: Tier,
    pub mode: Mode,
    /// As requested.
    pub aspect: AspectChoice,
    /// The ratio to generate; a placeholder if it depends on an image that is not fetched yet.
    pub ratio: AspectRatio,
    pub resolution: Resolution,
    pub prompt: PromptRef,
    pub price: Amount,
    pub options: ImageOptions,
    /// The job's run fetches these images.
    pub input_urls: InputUrls,
}

/// The batch was accepted now or at the first use of the same idempotency key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcceptedBatch {
    pub batch: BatchId,
    /// Did an earlier call create the batch?
    pub replayed: bool,
}

/// An idempotency key and the request's fingerprint.
#[derive(Clone, Debug)]
pub struct IdempotencyUse {
    /// The idempotency key.
    pub name: String,
    pub fingerprint: Fingerprint,
}

/// The job was accepted now or at the first use of the same idempotency key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcceptedJob {
    pub job: JobId,
    /// Did an earlier call create the job?
    pub replayed: bool,
}

/// Why a job was refused. Nothing has changed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AcceptError {
    #[error("the Idempotency-Key was used before with a different request")]
    KeyReused,
    /// The key's current record does not allow this job.
    #[error(transparent)]
    Caller(#[from] CallerRefusal),
    #[error(transparent)]
    Paused(#[from] ActivePause),
    /// The rate limit of the key or its account has become stricter since the call was counted.
    #[error(
        "the rate limit of this API key or its account was lowered while the request was on its way; send the request again"
    )]
    RateLowered,
    #[error("the account has {live} of at most {most} unfinished jobs")]
    TooManyLive {
        live: usize,
        jobs: usize,
        most: usize,
    },
    #[error("this API key has {live} of at most {most} unfinished jobs")]
    TooManyLiveOfKey {
        live: usize,
        jobs: usize,
        most: usize,
    },
    #[error("{most} API keys of the account have jobs that are not finished, which is the limit")]
    TooManyKeys { most: usize },
    #[error("the account: {0}")]
    AccountLimit(LimitReached),
    #[error("the API key: {0}")]
    KeyLimit(#[from] LimitReached),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum BatchError {
    #[error("there is no such batch")]
    NotFound,
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum EventError {
    #[error("there is no such job")]
    NotFound,
    #[error(transparent)]
    Transition(#[from] TransitionError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Clone, Debug)]
pub struct AccountChanged {
    pub before: Account,
    pub after: Account,
}

/// A negative amount is a correction.
#[derive(Clone, Debug)]
pub struct Deposit {
    pub amount: Amount,
    /// The operator's text.
    pub reference: Option<String>,
    pub idempotency: Option<IdempotencyUse>,
}

/// Gives back the charge of a job, or a part of it.
#[derive(Clone, Debug)]
pub struct Refund {
    pub job: JobId,
    /// `None`: all that is not refunded yet.
    pub amount: Option<Amount>,
    /// The operator's text.
    pub reference: Option<String>,
    /// Refunds share the idempotency keys of deposits.
    pub idempotency: Option<IdempotencyUse>,
}

/// Why a refund was refused. Nothing has changed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RefundError {
    #[error("the Idempotency-Key was used before with a different deposit")]
    KeyReused,
    #[error("the account has no such job")]
    UnknownJob,
    /// Only a done job is charged.
    #[error("the job is {0} and was not charged")]
    NotCharged(&'static str),
    #[error("{left} is left to refund of the job's charge of {charge}")]
    ExceedsCharge { left: Amount, charge: Amount },
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum DepositError {
    #[error("the Idempotency-Key was used before with a different deposit")]
    KeyReused,
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A refusal of a command, or a storage failure.
pub trait CommandError: From<StoreError> {
    fn store_error(&self) -> Option<&StoreError>;
}

macro_rules! command_errors {
    ($($error:ty)+) => {$(
        impl CommandError for $error {
            fn store_error(&self) -> Option<&StoreError> {
                match self {
                    Self::Store(error) => Some(error),
                    _ => None,
                }
            }
        }
    )+};
}

command_errors! { AcceptError BatchError EventError DepositError RefundError }

impl CommandError for StoreError {
    fn store_error(&self) -> Option<&StoreError> {
        Some(self)
    }
}
