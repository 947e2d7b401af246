//! The input images of one call.

use super::fetch::{OwnFiles, ingest};
use super::limits::InputLimits;
use super::upload::BodyUpload;
use super::{IngestError, InputFaults};
use crate::objects::INPUTS;
use object_store::path::Path;
use tintype_egress::Client;
use tintype_storage::domain::job::InputImage;
use uuid::Uuid;

/// The input images of one call, or of one job of a batch. All have the same prefix in the object store.
pub struct CallInputs<'a> {
    egress: &'a Client,
    own_files: OwnFiles<'a>,
    limits: InputLimits,
    prefix: Path,
    uploads: usize,
}

impl<'a> CallInputs<'a> {
    pub(super) fn new(egress: &'a Client, own_files: OwnFiles<'a>, limits: InputLimits) -> Self {
        Self {
            egress,
            own_files,
            limits,
            prefix: Path::from(format!("{INPUTS}/{}", Uuid::new_v4())),
            uploads: 0,
        }
    }

    /// Begins the upload of the next image of the body.
    pub fn begin_upload(&mut self) -> BodyUpload {
        let stem = self.prefix.clone().join(format!("h{}", self.uploads));
        self.uploads += 1;
        BodyUpload::begin(self.own_files.objects.store(), stem, &self.limits)
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
        let store = self.own_files.objects.store();
        ingest(
            self.egress,
            store,
            &self.prefix,
            urls,
            &limits,
            Some(self.own_files),
            mask,
        )
        .await
    }
}
