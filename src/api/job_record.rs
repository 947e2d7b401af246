//! A job with all that is on record of it: what the operator and the panel see beyond the lookup.

use super::job::JobView;
use super::kinds;
use crate::application::error::{Error, ErrorKind};
use crate::application::jobs::{image_url, picture_of};
use crate::application::state::AppState;
use crate::request_text::{self, WordsError};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use tintype_storage::domain::aspect_ratio::AspectChoice;
use tintype_storage::domain::job::{Job, Origin, PromptRef, PromptText};

/// A job as its keepers see it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "JobRecord", deny_unknown_fields)]
pub struct JobRecord<'a> {
    #[serde(flatten)]
    job: JobView<'a>,
    /// Whose it is.
    #[schemars(with = "kinds::Id")]
    account_id: String,
    /// The key that asked for it.
    #[schemars(with = "kinds::Id")]
    key_id: String,
    /// The model.
    #[schemars(with = "kinds::TierWord")]
    tier: &'static str,
    /// With input images or without.
    #[schemars(with = "kinds::ModeWord")]
    mode: &'static str,
    /// The shape that was asked for.
    #[schemars(with = "kinds::ChoiceWord")]
    aspect_ratio: String,
    /// The shape that it came to, where `auto` was asked for.
    #[schemars(with = "kinds::RatioWord")]
    ratio: String,
    /// The size.
    #[schemars(with = "kinds::ResolutionWord")]
    resolution: &'static str,
    /// What it costs, fixed when it was accepted.
    #[schemars(with = "kinds::Money")]
    price: String,
    /// `null` where it was too long for the record and its object is gone; in a list also where the object store does not answer.
    prompt: Option<String>,
    /// As the caller sent it; `null` where there was none, and with a `prompt` that is `null`.
    #[schemars(with = "Option<kinds::Metadata>")]
    metadata: Option<Box<RawValue>>,
    /// The webhook that the caller chose.
    callback_url: Option<&'a str>,
    /// The interface that it came by.
    #[schemars(with = "kinds::OriginWord")]
    origin: &'static str,
    /// The input images.
    inputs: Vec<InputView>,
    /// Only of a job that is done.
    picture: Option<PictureView>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "InputImage", deny_unknown_fields)]
struct InputView {
    #[schemars(with = "kinds::Count")]
    bytes: u64,
    /// In pixels; 0 where it is not known.
    #[schemars(with = "kinds::Count")]
    width: u32,
    /// In pixels; 0 where it is not known.
    #[schemars(with = "kinds::Count")]
    height: u32,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Picture", deny_unknown_fields)]
struct PictureView {
    #[schemars(with = "kinds::Count")]
    bytes: u64,
    /// In pixels.
    #[schemars(with = "kinds::Count")]
    width: u32,
    /// In pixels.
    #[schemars(with = "kinds::Count")]
    height: u32,
}

/// The words of a job, from the record or from the object store; `None` where they are gone.
async fn words_of(state: &AppState, job: &Job) -> Result<Option<PromptText>, WordsError> {
    match &job.brief {
        PromptRef::Inline(words) => Ok(Some(words.clone())),
        PromptRef::Stored(key) => match request_text::load(&state.images, key).await {
            Ok(words) => Ok(Some(words)),
            Err(error) if error.is_gone() => {
                tracing::warn!(job = %job.id, %key, "the words of a job are gone from the object store");
                Ok(None)
            }
            Err(error) => Err(error),
        },
    }
}

impl<'a> JobRecord<'a> {
    /// A job of a list. One whose words cannot be had at the moment must not hide the others.
    pub async fn listed(state: &AppState, job: &'a Job) -> Result<Self, Error> {
        let words = words_of(state, job).await.unwrap_or_else(|error| {
            tracing::error!(job = %job.id, %error, "the words of a job could not be read");
            None
        });
        let position = state.system.queue_position(job);
        Ok(Self::new(
            job,
            words,
            image_url(state, job).await?,
            position,
        ))
    }

    /// A job with its words and the fresh download URL of its picture, where it has one.
    fn new(
        job: &'a Job,
        words: Option<PromptText>,
        image_url: Option<String>,
        position: Option<usize>,
    ) -> Self {
        let (prompt, metadata) = words.map_or((None, None), |it| (Some(it.prompt), it.metadata));
        let input = |it: &tintype_storage::domain::job::InputImage| InputView {
            bytes: it.bytes,
            width: it.width,
            height: it.height,
        };
        Self {
            account_id: job.account.to_string(),
            key_id: job.key.to_string(),
            tier: job.tier.word(),
            mode: job.mode.word(),
            aspect_ratio: match job.aspect {
                AspectChoice::Auto => "auto".into(),
                AspectChoice::Fixed(ratio) => ratio.to_string(),
            },
            ratio: job.ratio.to_string(),
            resolution: job.resolution.word(),
            price: job.price.to_string(),
            prompt,
            // What was stored is well-formed; were it not, nothing is better than half of it.
            metadata: metadata.and_then(|text| RawValue::from_string(text).ok()),
            callback_url: job.callback.as_ref().map(|it| it.url.as_str()),
            origin: match job.origin {
                Origin::Native => "native",
                Origin::Synchronous => "synchronous",
            },
            inputs: job.inputs.iter().map(input).collect(),
            picture: picture_of(job).map(|it| PictureView {
                bytes: it.bytes,
                width: it.width,
                height: it.height,
            }),
            job: JobView::new(job, image_url, position),
        }
    }

    /// The same with everything looked up.
    pub async fn looked_up(state: &AppState, job: &'a Job) -> Result<Self, Error> {
        let image_url = image_url(state, job).await?;
        let words = words_of(state, job).await.map_err(|error| {
            tracing::error!(job = %job.id, %error, "the words of a job could not be read");
            let detail = "the prompt of the job could not be read from the object store; try again";
            Error::new(ErrorKind::StorageUnavailable, detail)
        })?;
        let position = state.system.queue_position(job);
        Ok(Self::new(job, words, image_url, position))
    }
}
