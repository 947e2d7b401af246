//! What an account is asked for, and how it answers.

use super::StoreError;
use crate::domain::account::Account;
use crate::domain::account_limits::AccountLimits;
use crate::domain::amount::Amount;
use crate::domain::api_key::RateLimit;
use crate::domain::aspect_ratio::{AspectChoice, AspectRatio};
use crate::domain::batch_member::InputUrls;
use crate::domain::caller::{CallerRefusal, ShownKey};
use crate::domain::file_batch::FileBatchTerms;
use crate::domain::ids::{BatchId, JobId, KeyId};
use crate::domain::job::{Callback, InputImage, Origin, PromptRef, TransitionError};
use crate::domain::ledger::LedgerError;
use crate::domain::pause::Paused;
use crate::domain::request::Fingerprint;
use crate::domain::spending::LimitReached;
use crate::domain::tier::{Mode, Resolution, Tier};
use std::time::Duration;

/// Bounds that a decision keeps.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Jobs of one account that are not terminal.
    pub max_live_per_account: usize,
    /// How long an idempotency key is remembered.
    pub idempotency_retention: Duration,
}

impl Limits {
    /// Jobs that an account with these limits may have at once.
    pub fn max_live(&self, of_account: &AccountLimits) -> usize {
        let most = self.max_live_per_account;
        of_account
            .max_concurrent
            .map_or(most, |it| most.min(it as usize))
    }
}

/// A job to be accepted: everything but its id and its moment.
#[derive(Clone, Debug)]
pub struct NewJob {
    /// The key that asks. The decision judges it as it is then.
    pub key: KeyId,
    /// How the key was shown; `None` in the panel, where a person asks in its stead.
    pub shown: Option<ShownKey>,
    /// The account's rate limit under which the call was counted.
    pub account_rate_limit: Option<RateLimit>,
    pub tier: Tier,
    /// With input images or without.
    pub mode: Mode,
    /// The shape asked for.
    pub aspect: AspectChoice,
    /// The shape to make.
    pub ratio: AspectRatio,
    /// The size to make.
    pub resolution: Resolution,
    /// Its words.
    pub prompt: PromptRef,
    /// The registered webhook that its event is for.
    pub callback: Option<Callback>,
    /// Which interface asks.
    pub origin: Origin,
    /// Its input images, already in the object store.
    pub inputs: Vec<InputImage>,
    pub price: Amount,
    /// The job fails if it is still queued after this time.
    pub cancel_after: Option<Duration>,
    /// The caller's name for this request.
    pub idempotency: Option<IdempotencyUse>,
}

/// A batch to be accepted: everything but its ids and its moment.
#[derive(Clone, Debug)]
pub struct NewBatch {
    /// The key that asks. The decision judges it as it is then.
    pub key: KeyId,
    /// How the key was shown; `None` in the panel, where a person asks in its stead.
    pub shown: Option<ShownKey>,
    /// The account's rate limit under which the call was counted.
    pub account_rate_limit: Option<RateLimit>,
    /// At least one.
    pub requests: Vec<BatchRequest>,
    /// The sum of the prices of the requests.
    pub price: Amount,
    /// The caller's object; the prompt is empty.
    pub text: PromptRef,
    /// The registered webhook that its end is for.
    pub callback: Option<Callback>,
    /// The caller's name for this batch.
    pub idempotency: Option<IdempotencyUse>,
    /// How it was submitted as a file, where it was.
    pub file: Option<FileBatchTerms>,
}

/// One request of a batch.
#[derive(Clone, Debug)]
pub struct BatchRequest {
    /// The caller's name for it; `None` where that is its position.
    pub custom_id: Option<String>,
    pub tier: Tier,
    /// With input images or without.
    pub mode: Mode,
    /// The shape asked for.
    pub aspect: AspectChoice,
    /// The shape to make; a stand-in where it follows an image that is yet to be fetched.
    pub ratio: AspectRatio,
    /// The size to make.
    pub resolution: Resolution,
    /// Its words.
    pub prompt: PromptRef,
    pub price: Amount,
    /// Its input images, which are fetched when its turn has come.
    pub input_urls: InputUrls,
}

/// A batch was accepted, now or at the first use of the same idempotency key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcceptedBatch {
    pub batch: BatchId,
    /// Was it accepted by an earlier call?
    pub replayed: bool,
}

/// An idempotency key with the request that it comes with.
#[derive(Clone, Debug)]
pub struct IdempotencyUse {
    /// The caller's name for the request.
    pub name: String,
    /// What the request means.
    pub fingerprint: Fingerprint,
}

/// A job was accepted, now or at the first use of the same idempotency key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    pub job: JobId,
    /// Was it accepted by an earlier call?
    pub replayed: bool,
}

/// Why a job was not accepted. Nothing has changed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AcceptError {
    /// The idempotency key stands for another request.
    #[error("the Idempotency-Key was used before with a different request")]
    KeyReused,
    /// The key may not ask for this job, as it is by now.
    #[error(transparent)]
    Caller(#[from] CallerRefusal),
    /// The model is paused by now.
    #[error(transparent)]
    Paused(#[from] Paused),
    /// The rate limit of the key or of its account is stricter by now than the one under which the call was counted.
    #[error(
        "the rate limit of this API key or its account was lowered while the request was on its way; send the request again"
    )]
    RateLowered,
    /// The account has too many jobs that are not terminal.
    #[error("the account has {live} jobs that are not finished, and may have {most} of them")]
    TooManyLive { live: usize, most: usize },
    /// The key has too many jobs that are not terminal.
    #[error("this API key has {live} jobs that are not finished, and may have {most} of them")]
    TooManyLiveOfKey { live: usize, most: usize },
    /// A limit of what the account may spend would be passed.
    #[error("the account has {0}")]
    AccountLimit(LimitReached),
    /// A limit of the API key would be passed.
    #[error("the API key has {0}")]
    KeyLimit(#[from] LimitReached),
    /// The balance does not cover the price.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a batch was not canceled.
#[derive(Clone, Debug, thiserror::Error)]
pub enum BatchError {
    /// There is no such batch.
    #[error("there is no such batch")]
    NotFound,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why an event did not apply.
#[derive(Clone, Debug, thiserror::Error)]
pub enum EventError {
    /// There is no such job.
    #[error("there is no such job")]
    NotFound,
    /// The job is not in a state for it.
    #[error(transparent)]
    Transition(#[from] TransitionError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// An account that was changed.
#[derive(Clone, Debug)]
pub struct AccountChanged {
    /// As it was.
    pub before: Account,
    /// As it is.
    pub after: Account,
}

/// Money to be added, or taken back when negative.
#[derive(Clone, Debug)]
pub struct Deposit {
    pub amount: Amount,
    /// The operator's words.
    pub reference: Option<String>,
    /// The operator's name for this deposit.
    pub idempotency: Option<IdempotencyUse>,
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum DepositError {
    /// The idempotency key stands for another deposit.
    #[error("the Idempotency-Key was used before with a different deposit")]
    KeyReused,
    /// The balance does not allow it.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a command was refused, or that the store failed.
pub trait CommandError: From<StoreError> {
    /// The failure of the store.
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

command_errors! { AcceptError BatchError EventError DepositError }

impl CommandError for StoreError {
    fn store_error(&self) -> Option<&StoreError> {
        Some(self)
    }
}
