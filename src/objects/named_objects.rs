//! The objects that records name.

use super::upload_key;
use std::time::Duration;
use tintype_storage::domain::batch::Batch;
use tintype_storage::domain::batch_member::InputUrls;
use tintype_storage::domain::file_batch::UploadedFile;
use tintype_storage::domain::job::{Job, JobState, PromptRef};

/// An erasure deletes a text before it changes the record, usually by less than this. A reader that does not find a text asks again after
/// this time whether its job was erased.
pub const ERASURE_DELAY: Duration = Duration::from_secs(1);

/// An object that a record names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedObject {
    pub key: String,
    pub role: ObjectRole,
    /// As recorded. `None` if the record does not contain the length.
    pub bytes: Option<u64>,
}

/// What an object is to its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectRole {
    JobText,
    InputUrls,
    /// Of a live job: a job that ends no longer needs its inputs.
    Input,
    /// Of a done job.
    Image,
    BatchText,
    Upload,
}

impl NamedObject {
    fn new(role: ObjectRole, key: &str, bytes: Option<u64>) -> Self {
        Self {
            key: key.to_owned(),
            role,
            bytes,
        }
    }

    fn of_text(role: ObjectRole, text: &PromptRef) -> Option<Self> {
        match text {
            PromptRef::Inline(_) => None,
            PromptRef::Stored(key) => Some(Self::new(role, key, None)),
        }
    }

    /// The objects that a job needs. Their order never changes, because backups list them in this order.
    pub fn of_job(job: &Job) -> impl Iterator<Item = Self> {
        let text = Self::of_text(ObjectRole::JobText, &job.prompt);
        let urls = match job.member().map(|it| &it.input_urls) {
            Some(InputUrls::Stored(key)) => Some(Self::new(ObjectRole::InputUrls, key, None)),
            Some(InputUrls::Inline(_)) | None => None,
        };
        let (inputs, image) = match &job.state {
            JobState::Queued | JobState::Processing { .. } => (&job.inputs[..], None),
            JobState::Done { image, .. } => (&[][..], Some(image)),
            JobState::Failed { .. } => (&[][..], None),
        };
        let inputs = inputs
            .iter()
            .map(|it| Self::new(ObjectRole::Input, &it.key, Some(it.bytes)));
        let image = image.map(|it| Self::new(ObjectRole::Image, &it.key, Some(it.bytes)));
        text.into_iter().chain(urls).chain(inputs).chain(image)
    }

    pub fn of_batch(batch: &Batch) -> Option<Self> {
        Self::of_text(ObjectRole::BatchText, &batch.text)
    }

    pub fn of_upload(file: &UploadedFile) -> Self {
        Self::new(ObjectRole::Upload, &upload_key(file), Some(file.bytes))
    }
}
