//! Plain records for tests; a test overrides the relevant fields with `..`.

use crate::domain::amount::Amount;
use crate::domain::aspect_ratio::{AspectChoice, AspectRatio};
use crate::domain::batch_member::InputUrls;
use crate::domain::ids::{AccountId, JobId, KeyId};
use crate::domain::image_options::ImageOptions;
use crate::domain::job::{Job, JobState, Origin, PromptRef, PromptText};
use crate::domain::tier::{Mode, Resolution, Tier};
use crate::domain::time::Timestamp;
use crate::store::{NewBatchJob, NewJob};
use uuid::Uuid;

pub fn prompt(text: impl Into<String>) -> PromptRef {
    PromptRef::Inline(PromptText {
        prompt: text.into(),
        metadata: None,
    })
}

/// A job for a fast, square image of a fox.
pub fn new_job(key: KeyId, price: Amount) -> NewJob {
    NewJob {
        key,
        shown: None,
        account_rate_limit: None,
        tier: Tier::Fast,
        mode: Mode::TextToImage,
        aspect: AspectChoice::Fixed(AspectRatio::SQUARE),
        ratio: AspectRatio::SQUARE,
        resolution: Resolution::K1,
        prompt: prompt("a fox"),
        callback: None,
        origin: Origin::Native,
        inputs: Vec::new(),
        price,
        options: ImageOptions::default(),
        cancel_after: None,
        idempotency: None,
    }
}

/// The same job as a request of a batch.
pub fn batch_request(price: Amount) -> NewBatchJob {
    NewBatchJob {
        custom_id: None,
        tier: Tier::Fast,
        mode: Mode::TextToImage,
        aspect: AspectChoice::Fixed(AspectRatio::SQUARE),
        ratio: AspectRatio::SQUARE,
        resolution: Resolution::K1,
        prompt: prompt("a fox"),
        price,
        options: ImageOptions::default(),
        input_urls: InputUrls::Inline(Vec::new()),
    }
}

/// The resulting job. All its ids are nil.
pub fn job(state: JobState) -> Job {
    Job {
        id: JobId(Uuid::nil()),
        account: AccountId(Uuid::nil()),
        key: KeyId(Uuid::nil()),
        tier: Tier::Fast,
        mode: Mode::TextToImage,
        aspect: AspectChoice::Fixed(AspectRatio::SQUARE),
        ratio: AspectRatio::SQUARE,
        resolution: Resolution::K1,
        prompt: prompt("a fox"),
        callback: None,
        origin: Origin::Native,
        inputs: Vec::new(),
        price: "0.039".parse().expect("an amount"),
        created_at: Timestamp::from_millis(0),
        state,
        options: None,
    }
}
