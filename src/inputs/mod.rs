//! Input images: fetched from the caller's URLs while the call waits, and streamed into the object store.
//!
//! No image is held whole in memory: each takes at most 5 MiB (S3's smallest part) and 1 MiB for the connection, out of a budget
//! that all calls share. The format comes from the first bytes and the size from the image header. No pixel is decoded.

mod fault;
mod fetch;
mod image_upload;
mod ingestion;
mod input_images;
mod job_inputs;
mod kept_inputs;
pub mod mask;
mod memory_budget;
mod own_files;
mod progress;
mod staged_upload;
#[cfg(test)]
mod tests;
mod upload;

use fetch::Target;
use memory_budget::AccountMemory;
use object_store::{ObjectStore, path::Path};
use own_files::OwnFiles;
use progress::{Ingestion, Progress};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tintype_egress::{Client, parse_url};
use tintype_storage::domain::job::InputImage;
use tokio::{sync::mpsc, time::timeout};

pub use fault::{FIELD, IngestError, InputFaults, StoreFault, UploadFault};
pub use input_images::{CallInputs, InputImages};
pub use job_inputs::JobInputs;
pub use memory_budget::{MemoryBudget, MemoryUnavailable, Reservation};
pub use staged_upload::{StagedUpload, StoredUpload};

type SharedStore = Arc<dyn ObjectStore>;

/// A failed ingestion waits this long for its cleanup before it returns; the cleanup continues.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(5);

/// Limits of one ingestion.
#[derive(Clone, Debug)]
struct InputLimits {
    /// For the whole ingestion: DNS lookups, connections, redirects, bodies and the store.
    pub timeout: Duration,
    /// Over all images, declared or received.
    pub max_total_bytes: u64,
    /// Per image.
    pub max_pixels: u64,
    pub memory: AccountMemory,
}

/// Fetches the images and stores them as `prefix/0.png`, `prefix/1.jpg` and so on. See [`CallInputs::fetch`]. `prefix` must belong to
/// this call alone.
async fn ingest(
    egress: &Client,
    store: Arc<dyn ObjectStore>,
    prefix: &Path,
    urls: &[String],
    limits: &InputLimits,
    own_files: Option<OwnFiles<'_>>,
    mask: Option<usize>,
) -> Result<Vec<InputImage>, IngestError> {
    let (mut targets, mut faults) = (Vec::with_capacity(urls.len()), BTreeMap::new());
    for (index, text) in urls.iter().enumerate() {
        let target = parse_url(text).map_err(|wrong| wrong.to_string());
        let target = target.and_then(|url| match own_files.as_ref().and_then(|it| it.key(&url)) {
            Some(key) => Ok(Target::Own(key?)),
            None if egress.gate().check_host(&url).is_ok() => Ok(Target::Url(url)),
            None => Err("is not at a public address".to_owned()),
        });
        match target {
            Ok(target) => targets.push((index, target)),
            Err(wrong) => drop(faults.insert(index, wrong)),
        }
    }
    let (alive, mut uploads_ended) = mpsc::channel(1);
    let ingestion = Ingestion {
        egress,
        own_files,
        store,
        prefix,
        mask,
        limits,
        alive,
        progress: vec![Progress::default(); urls.len()],
    };
    let outcome = ingestion::run(&ingestion, targets, faults).await;
    if outcome.is_err() {
        drop(ingestion);
        // The channel carries no message; it closes when the last upload ends. The timeout covers a store that hangs.
        let _ = timeout(CLEANUP_TIMEOUT, uploads_ended.recv()).await;
    }
    outcome
}

/// Deletes ingested images that are no longer needed. Logs failures.
async fn discard(store: &dyn ObjectStore, images: &[InputImage]) {
    for image in images {
        upload::remove(store, &Path::from(image.key.as_str())).await;
    }
}
