//! Input images: fetched from the caller's URLs while the call waits, and streamed into the object store.
//!
//! Nothing is held whole in memory: an image needs at most 5 MiB (the least part that S3 takes) and 1 MiB of headers, which it
//! takes out of a budget that all calls share, and less for small images. What an image is, is read from its bytes; how large it is, from its header. No pixel is
//! decoded.

mod fault;
mod fetch;
mod ingestion;
mod memory_budget;
mod progress;
mod staged_upload;
#[cfg(test)]
mod tests;
mod upload;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use object_store::{ObjectStore, path::Path};
use tintype_egress::{Client, parse_url};
use tintype_imaging::ImageKind;
use tokio::{sync::mpsc, time::timeout};

pub use fault::{FIELD, IngestError, InputFaults, StoreFault};
pub use memory_budget::{AccountMemory, MemoryBudget, MemoryUnavailable, Reservation};
pub use staged_upload::{StagedUpload, StoredUpload, UploadFault};

type SharedStore = Arc<dyn ObjectStore>;

/// How long a failed ingestion waits for its own clean-up before it answers; the clean-up itself goes on.
const CLEAN_UP: Duration = Duration::from_secs(5);

/// Bounds of one ingestion.
#[derive(Clone, Debug)]
pub struct InputLimits {
    /// For everything: look-ups, connections, redirects, bodies and the store.
    pub timeout: Duration,
    /// Bytes over all images, declared or arrived.
    pub max_total_bytes: u64,
    /// Pixels of one image.
    pub max_pixels: u64,
    /// Redirects of one image.
    pub max_redirects: usize,
    /// The memory that images pass through.
    pub memory: AccountMemory,
}

impl Default for InputLimits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            max_total_bytes: 200_000_000,
            max_pixels: 25_000_000,
            max_redirects: 5,
            memory: AccountMemory::default(),
        }
    }
}

/// An image in the object store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputImage {
    /// Its object key.
    pub key: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// What it is by its bytes.
    pub media_type: ImageKind,
    /// Width in pixels, as it is meant to be seen: after its Exif orientation.
    pub width: u32,
    /// Height in pixels, as it is meant to be seen.
    pub height: u32,
}

/// Fetches all images of a request, side by side, and stores them as `prefix/0.png`, `prefix/1.jpg` and so on, in the order
/// of `urls`. A URL that stands there twice is fetched twice.
///
/// Must run where tasks can be spawned; the images are the caller's from the moment this returns. When it fails, or its
/// future is dropped at any point, nothing stays in the store. `prefix` must belong to this call alone.
///
/// # Errors
/// [`IngestError::Invalid`] with every entry that is faulty, as far as that shows before the deadline. [`IngestError::Store`] when
/// the store fails, or is what the deadline was missed for while no entry is faulty. [`IngestError::MemoryUnavailable`] when memory is what
/// it was missed for, likewise.
pub async fn ingest(
    egress: &Client,
    store: Arc<dyn ObjectStore>,
    prefix: &Path,
    urls: &[String],
    limits: &InputLimits,
) -> Result<Vec<InputImage>, IngestError> {
    let (mut targets, mut faults) = (Vec::with_capacity(urls.len()), BTreeMap::new());
    for (index, text) in urls.iter().enumerate() {
        match parse_url(text) {
            Ok(url) if egress.gate().check_host(&url).is_ok() => targets.push((index, url)),
            Ok(_) => drop(faults.insert(index, "is not at a public address".to_owned())),
            Err(wrong) => drop(faults.insert(index, wrong.to_string())),
        }
    }
    let (alive, mut all_gone) = mpsc::channel(1);
    let ingestion = progress::Ingestion::new(egress, store, prefix, limits, alive, urls.len());
    let outcome = ingestion::run(&ingestion, targets, faults).await;
    if outcome.is_err() {
        drop(ingestion);
        // The channel carries nothing; it ends when the last upload does. A store that hangs is not waited for.
        let _ = timeout(CLEAN_UP, all_gone.recv()).await;
    }
    outcome
}

/// Deletes ingested images that are not needed after all. What cannot be deleted is named in the log.
pub async fn discard(store: &dyn ObjectStore, images: &[InputImage]) {
    for image in images {
        upload::remove(store, &Path::from(image.key.as_str())).await;
    }
}
