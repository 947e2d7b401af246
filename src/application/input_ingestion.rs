//! What a call puts into the object store before its jobs exist: input images, and texts that are too large for a record.

use super::error::{Error, ErrorKind, FieldFault};
use super::generation_request::Input;
use super::state::AppState;
use crate::images::{FAULT_TARGET, ImagesError};
use crate::inputs::{self, IngestError, InputFaults, InputImage, StoredUpload};
use crate::request_text;
use object_store::path::Path;
use tintype_storage::domain::batch_member::InputUrls;
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::job::{self, Origin, PromptRef, PromptText};
use uuid::Uuid;

/// What is told to be too large on the synchronous interfaces, which name no field for all images.
pub const ALL_INPUTS: &str = "the input images";

/// The objects of a call. Those that are not kept are to be discarded.
#[derive(Default)]
pub struct Objects {
    inputs: Vec<Ingested>,
    /// Keys of texts.
    texts: Vec<String>,
}

/// An input image in the object store.
enum Ingested {
    /// It came with the call. Dropping it takes it back.
    Stored(Box<StoredUpload>),
    Fetched(InputImage),
}

impl Ingested {
    fn image(&self) -> &InputImage {
        match self {
            Self::Stored(held) => held.image(),
            Self::Fetched(image) => image,
        }
    }
}

impl Objects {
    /// Fetches what is to be fetched. When it fails, or is dropped on the way, nothing stays in the store.
    ///
    /// # Errors
    /// Every faulty input; no memory in time; or the object store fails.
    pub async fn ingest(
        state: &AppState,
        account: AccountId,
        inputs: Vec<Input>,
        origin: Origin,
    ) -> Result<Self, Error> {
        let mut limits = state.input_limits(account);
        let most = limits.max_total_bytes;
        let (mut urls, mut fields, mut stored_bytes) = (Vec::new(), Vec::new(), 0);
        for input in &inputs {
            match input {
                Input::Stored(held) => stored_bytes += held.image().bytes,
                Input::Url { url, field } => {
                    urls.push(url.clone());
                    fields.push(field.clone());
                }
            }
        }
        if stored_bytes > most {
            return Err(faulty(InputFaults::too_large(), &fields, most, origin));
        }
        limits.max_total_bytes = most - stored_bytes;
        let mut fetched = Vec::new();
        if !urls.is_empty() {
            let prefix = Path::from(format!("inputs/{}", Uuid::new_v4()));
            let store = state.images.store();
            let outcome = inputs::ingest(&state.egress, store, &prefix, &urls, &limits).await;
            fetched = outcome.map_err(|error| match error {
                IngestError::Invalid(faults) => faulty(faults, &fields, most, origin),
                IngestError::MemoryUnavailable(fault) => fault.into(),
                IngestError::Store(fault) => {
                    tracing::error!(target: FAULT_TARGET, error = %fault, "input images could not be stored");
                    unavailable("the input images could not be stored; try again")
                }
            })?;
        }
        let mut fetched = fetched.into_iter();
        let inputs = inputs.into_iter().filter_map(|input| match input {
            Input::Stored(held) => Some(Ingested::Stored(held)),
            Input::Url { .. } => fetched.next().map(Ingested::Fetched),
        });
        Ok(Self {
            inputs: inputs.collect(),
            texts: Vec::new(),
        })
    }

    /// Stores a text that is too large for a record.
    ///
    /// # Errors
    /// The object store fails.
    pub async fn store_prompt(
        &mut self,
        state: &AppState,
        text: PromptText,
    ) -> Result<PromptRef, Error> {
        if !request_text::is_too_large(&text) {
            return Ok(PromptRef::Inline(text));
        }
        let key = request_text::store(&state.images, &text).await;
        Ok(PromptRef::Stored(self.stored(key)?))
    }

    /// Stores URLs of input images that are too many for a record that has such a text.
    ///
    /// # Errors
    /// The object store fails.
    pub async fn input_urls(
        &mut self,
        state: &AppState,
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
        let key = request_text::store_urls(&state.images, &urls).await;
        Ok(InputUrls::Stored(self.stored(key)?))
    }

    fn stored(&mut self, key: Result<String, ImagesError>) -> Result<String, Error> {
        let key = key.map_err(|error| {
            tracing::error!(target: FAULT_TARGET, %error, "the text of a request could not be stored");
            unavailable("the request could not be stored; try again")
        })?;
        self.texts.push(key.clone());
        Ok(key)
    }

    /// Adds the objects of another request of the same call.
    pub fn absorb(&mut self, other: Self) {
        self.inputs.extend(other.inputs);
        self.texts.extend(other.texts);
    }

    /// Keeps the objects of a call that made something, and removes those of one that did not.
    pub async fn settle<T>(
        self,
        state: &AppState,
        outcome: &Result<T, Error>,
        is_new: impl FnOnce(&T) -> bool,
    ) {
        // After a storage failure it is unknown whether the jobs are on the disk; if they are, they need their objects.
        let are_needed = match outcome {
            Ok(accepted) => is_new(accepted),
            Err(_) => state.fail_stop.has_tripped(),
        };
        match are_needed {
            true => self.keep(),
            false => self.discard(state).await,
        }
    }

    /// Width and height of the first input image.
    pub fn first_size(&self) -> Option<(u32, u32)> {
        let first = self.inputs.first()?.image();
        Some((first.width, first.height))
    }

    /// The input images as a job's record has them.
    pub fn records(&self) -> Vec<job::InputImage> {
        let images = self.inputs.iter().map(Ingested::image);
        let record = |image: &InputImage| job::InputImage {
            key: image.key.clone(),
            bytes: image.bytes,
            width: image.width,
            height: image.height,
        };
        images.map(record).collect()
    }

    /// Leaves all in the store.
    fn keep(self) {
        for input in self.inputs {
            if let Ingested::Stored(held) = input {
                held.keep();
            }
        }
    }

    /// Removes all from the store.
    pub async fn discard(self, state: &AppState) {
        for input in self.inputs {
            if let Ingested::Fetched(image) = input {
                inputs::discard(state.images.store().as_ref(), &[image]).await;
            }
        }
        for key in &self.texts {
            if let Err(error) = state.images.delete(key).await {
                tracing::warn!(%key, %error, "an object of a refused call could not be removed");
            }
        }
    }
}

fn unavailable(detail: &str) -> Error {
    Error::new(ErrorKind::StorageUnavailable, detail)
}

/// The faults under the names that the fields have in the caller's interface. `most` is the bound over all inputs, those that
/// came with the call included.
fn faulty(faults: InputFaults, fields: &[String], most: u64, origin: Origin) -> Error {
    let too_large = faults.too_large.then(|| match origin {
        Origin::Native | Origin::Batch(_) => FieldFault::new(
            inputs::FIELD,
            format!("must not exceed {most} bytes over all images"),
        ),
        Origin::Synchronous => {
            FieldFault::new(ALL_INPUTS, format!("must not exceed {most} bytes over all"))
        }
    });
    let entry = |(at, message): (usize, String)| {
        let field = fields.get(at).cloned().unwrap_or_default();
        FieldFault::new(field, message)
    };
    let entries = faults.entries.into_iter().map(entry);
    Error::invalid(too_large.into_iter().chain(entries).collect())
}
