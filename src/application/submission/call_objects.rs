//! Stores input images, and texts that are too large for a record, before the jobs of a call exist.

use super::earlier_images;
use super::generation_request::Input;
use crate::application::error::{Error, FieldFault, object_store_fault};
use crate::application::services::GenerationService;
use crate::inputs::{self, IngestError, InputFaults, StoredUpload, mask};
use crate::objects::{FAULT_TARGET, ObjectError};
use crate::request_text;
use tintype_storage::domain::batch_member::InputUrls;
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::job::{InputImage, PromptRef, PromptText};

/// The stored objects of a call. [`Self::settle`] keeps or deletes them.
#[derive(Default)]
pub struct CallObjects {
    inputs: Vec<IngestedInput>,
    texts: Vec<String>,
}

enum IngestedInput {
    /// Uploaded with the call. Dropping it deletes the object.
    Stored(Box<StoredUpload>),
    Fetched(InputImage),
}

impl IngestedInput {
    fn image(&self) -> &InputImage {
        match self {
            Self::Stored(upload) => upload.image(),
            Self::Fetched(image) => image,
        }
    }
}

impl CallObjects {
    /// Fetches and stores the input images, of which the last may be a mask. On an error, or if the future is dropped, no object stays in
    /// the store.
    ///
    /// # Errors
    /// All faulty inputs; no memory in time; the object store fails.
    pub async fn ingest(
        generations: &GenerationService,
        account: AccountId,
        inputs: Vec<Input>,
        has_mask: bool,
    ) -> Result<Self, Error> {
        let (mut urls, mut fields, mut uploaded_bytes) = (Vec::new(), Vec::new(), 0);
        let mut uploads = Vec::with_capacity(inputs.len());
        for input in inputs {
            uploads.push(match input {
                Input::Stored(upload) => Some(upload),
                Input::Earlier { job, field } => {
                    Some(earlier_images::copy(generations, account, job, &field).await?)
                }
                Input::Url { url, field } => {
                    urls.push(url);
                    fields.push(field);
                    None
                }
            });
            let uploaded = uploads.last().and_then(Option::as_ref);
            uploaded_bytes += uploaded.map_or(0, |it| it.image().bytes);
        }
        let mask_is_fetched = has_mask && matches!(uploads.last(), Some(None));
        let mask = mask_is_fetched.then(|| urls.len() - 1);
        let images = &generations.inputs;
        let fetched = images.of(account).fetch(&urls, uploaded_bytes, mask).await;
        let fetched = fetched.map_err(|error| match error {
            IngestError::Invalid(faults) => {
                to_error(faults, &fields, images.config.max_total_bytes)
            }
            IngestError::MemoryUnavailable(fault) => fault.into(),
            IngestError::Store(fault) => {
                let detail = "the input images could not be stored; try again";
                object_store_fault(fault, "could not store input images", detail)
            }
        })?;
        let mut fetched = fetched.into_iter();
        let inputs = uploads.into_iter().filter_map(|upload| match upload {
            Some(upload) => Some(IngestedInput::Stored(upload)),
            None => fetched.next().map(IngestedInput::Fetched),
        });
        let objects = Self {
            inputs: inputs.collect(),
            texts: Vec::new(),
        };
        if has_mask
            && let [first, .., mask] = &objects.inputs[..]
            && let Err(message) = mask::check_size(mask.image(), first.image())
        {
            objects.discard(generations).await;
            return Err(Error::field("mask", message));
        }
        Ok(objects)
    }

    /// Stores a text if it is too large for a record.
    pub async fn store_prompt(
        &mut self,
        generations: &GenerationService,
        text: PromptText,
    ) -> Result<PromptRef, Error> {
        if !request_text::is_too_large(&text) {
            return Ok(PromptRef::Inline(text));
        }
        let key = Box::pin(request_text::store(&generations.objects, &text)).await;
        Ok(PromptRef::Stored(self.record_key(key)?))
    }

    /// Stores the URLs of input images if they do not fit a record beside the prompt.
    pub async fn input_urls(
        &mut self,
        generations: &GenerationService,
        urls: Vec<String>,
        beside: &PromptRef,
    ) -> Result<InputUrls, Error> {
        let is_too_large = match beside {
            PromptRef::Inline(text) => request_text::are_too_large(&urls, text),
            PromptRef::Stored(_) => request_text::are_too_large(&urls, &PromptText::default()),
        };
        if !is_too_large {
            return Ok(InputUrls::Inline(urls));
        }
        let key = request_text::store_urls(&generations.objects, &urls).await;
        Ok(InputUrls::Stored(self.record_key(key)?))
    }

    fn record_key(&mut self, key: Result<String, ObjectError>) -> Result<String, Error> {
        let key = key.map_err(|error| {
            let detail = "the request could not be stored; try again";
            object_store_fault(error, "could not store the text of a request", detail)
        })?;
        self.texts.push(key.clone());
        Ok(key)
    }

    /// Adds the objects of another request of the same call.
    pub fn absorb(&mut self, other: Self) {
        self.inputs.extend(other.inputs);
        self.texts.extend(other.texts);
    }

    /// Keeps the objects if the call created jobs, and deletes them otherwise.
    pub async fn settle<T>(
        self,
        generations: &GenerationService,
        outcome: &Result<T, Error>,
        is_new: impl FnOnce(&T) -> bool,
    ) {
        // After a storage failure the jobs may be durable, and then need their objects.
        let are_needed = match outcome {
            Ok(accepted) => is_new(accepted),
            Err(_) => generations.core.fail_stop.has_tripped(),
        };
        match are_needed {
            true => self.keep(),
            false => Box::pin(self.discard(generations)).await,
        }
    }

    /// Width and height of the first input image.
    pub fn first_size(&self) -> Option<(u32, u32)> {
        let first = self.inputs.first()?.image();
        Some((first.width, first.height))
    }

    /// The input images in the form of a job's record.
    pub fn records(&self) -> Vec<InputImage> {
        let images = self.inputs.iter().map(IngestedInput::image);
        images.cloned().collect()
    }

    fn keep(self) {
        for input in self.inputs {
            if let IngestedInput::Stored(upload) = input {
                upload.keep();
            }
        }
    }

    pub async fn discard(self, generations: &GenerationService) {
        for input in self.inputs {
            if let IngestedInput::Fetched(image) = input {
                generations.inputs.discard(&[image]).await;
            }
        }
        for key in &self.texts {
            if let Err(error) = generations.objects.delete(key).await {
                tracing::warn!(target: FAULT_TARGET, %key, %error, "could not delete an object of a refused call");
            }
        }
    }
}

/// Maps the faults to the field names of the caller's interface. `max_bytes` is the limit over all inputs, uploads included.
fn to_error(faults: InputFaults, fields: &[String], max_bytes: u64) -> Error {
    let message = format!("must not exceed {max_bytes} bytes over all images");
    let too_large = faults
        .too_large
        .then(|| FieldFault::new(inputs::FIELD, message));
    let entry = |(at, message): (usize, String)| {
        let field = fields.get(at).cloned().unwrap_or_default();
        FieldFault::new(field, message)
    };
    let entries = faults.entries.into_iter().map(entry);
    Error::invalid(too_large.into_iter().chain(entries).collect())
}
