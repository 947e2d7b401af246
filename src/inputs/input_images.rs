//! What all calls need for input images (clients, stores, limits, memory), and the images of one call.

use super::own_files::OwnFiles;
use super::{
    IngestError, InputFaults, InputLimits, MemoryBudget, MemoryUnavailable, Reservation,
    StagedUpload, discard, ingest,
};
use crate::config::{Config, Inputs};
use crate::objects::{INPUTS, ObjectStorage};
use object_store::path::Path;
use std::time::Duration;
use tintype_actors::clock::Clock;
use tintype_egress::Client;
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::job::InputImage;
use tintype_storage::store::Store;
use uuid::Uuid;

/// Shared by all calls and by the jobs of batches.
pub struct InputImages {
    pub config: Inputs,
    /// For input images in transit, and for large bodies.
    pub memory: MemoryBudget,
    memory_timeout: Duration,
    egress: Client,
    objects: ObjectStorage,
    /// Of the images behind download URLs.
    records: Store,
    clock: Clock,
}

impl InputImages {
    pub fn new(
        config: &Config,
        egress: Client,
        objects: ObjectStorage,
        records: Store,
        clock: Clock,
    ) -> Self {
        Self {
            config: config.inputs.clone(),
            memory: MemoryBudget::new(config.limits.ingest_bytes),
            // Shorter than the body timeout, so that an upload does not time out while it waits for memory.
            memory_timeout: config.inputs.timeout().min(config.server.body_timeout()) / 2,
            egress,
            objects,
            records,
            clock,
        }
    }

    /// The images of a new call of this account.
    pub fn of(&self, account: AccountId) -> CallInputs<'_> {
        let limits = InputLimits {
            timeout: self.config.timeout(),
            max_total_bytes: self.config.max_total_bytes,
            max_pixels: self.config.max_pixels,
            memory: self.memory.of(account, self.memory_timeout),
        };
        CallInputs {
            images: self,
            account,
            limits,
            prefix: Path::from(format!("{INPUTS}/{}", Uuid::new_v4())),
            uploads: 0,
        }
    }

    /// Waits for `bytes` of memory, for a body that is held whole.
    ///
    /// # Errors
    /// No memory became free in time.
    pub async fn reserve(
        &self,
        account: AccountId,
        bytes: u64,
    ) -> Result<Reservation, MemoryUnavailable> {
        let memory = self.memory.of(account, self.memory_timeout);
        memory.reserve_whole(bytes).await
    }

    /// Deletes fetched images that are no longer needed. Logs failures.
    pub async fn discard(&self, images: &[InputImage]) {
        discard(self.objects.store().as_ref(), images).await;
    }
}

/// The input images of one call, or of one job of a batch. All have the same prefix in the object store.
pub struct CallInputs<'a> {
    images: &'a InputImages,
    account: AccountId,
    limits: InputLimits,
    prefix: Path,
    uploads: usize,
}

impl CallInputs<'_> {
    /// Begins the upload of the next image of the body.
    pub fn begin_upload(&mut self) -> StagedUpload {
        let stem = self.prefix.clone().join(format!("h{}", self.uploads));
        self.uploads += 1;
        StagedUpload::begin(self.images.objects.store(), stem, &self.limits)
    }

    /// Fetches all images concurrently, and stores them in the order of `urls`. `uploaded_bytes` counts against the limit over all
    /// images. Fetches a repeated URL again. Reads an image behind a download URL of this service from the object store.
    /// `mask` is the index of a mask.
    ///
    /// Needs a Tokio runtime. On success the caller owns the stored images. On failure, or when the future is dropped, nothing stays in
    /// the store.
    ///
    /// # Errors
    /// [`IngestError::Invalid`] with every entry that proves faulty before the deadline. [`IngestError::Store`] when the store fails, or
    /// when no entry is faulty and the store delayed the call past its deadline. [`IngestError::MemoryUnavailable`] when no entry is
    /// faulty and waiting for memory did.
    pub async fn fetch(
        self,
        urls: &[String],
        uploaded_bytes: u64,
        mask: Option<usize>,
    ) -> Result<Vec<InputImage>, IngestError> {
        let max_total_bytes = self.limits.max_total_bytes.checked_sub(uploaded_bytes);
        let too_large = || IngestError::Invalid(InputFaults::too_large());
        let limits = InputLimits {
            max_total_bytes: max_total_bytes.ok_or_else(too_large)?,
            ..self.limits
        };
        let InputImages {
            egress,
            objects,
            records,
            clock,
            ..
        } = self.images;
        let own_files = OwnFiles {
            objects,
            records,
            account: self.account,
            now: clock(),
        };
        let store = objects.store();
        ingest(
            egress,
            store,
            &self.prefix,
            urls,
            &limits,
            Some(own_files),
            mask,
        )
        .await
    }
}
