//! Fetches all input images of a call concurrently, under one deadline and one byte limit.

mod image_fetch;
mod ingestion;
mod own_files;

pub use own_files::OwnFiles;

use super::fault::{Failure, IngestError, InputFaults};
use super::limits::InputLimits;
use super::upload::StoredImage;
use super::{InputImage, SharedStore};
use futures_util::FutureExt as _;
use futures_util::stream::{self, StreamExt};
use image_fetch::{Target, fetch_image};
use ingestion::{Ingestion, Progress};
use object_store::path::Path;
use std::collections::BTreeMap;
use std::time::Duration;
use tintype_egress::{Client, parse_url};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

/// A request has at most this many entries.
const MAX_CONCURRENT: usize = 14;
/// A failed ingestion waits this long for its cleanup before it returns; the cleanup continues.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(5);

/// Fetches the images and stores them as `prefix/0.png`, `prefix/1.jpg` and so on. `prefix` must belong to this call alone. See
/// [`CallInputs::fetch`](super::CallInputs::fetch).
pub async fn ingest(
    egress: &Client,
    store: SharedStore,
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
    let outcome = fetch_all(&ingestion, targets, faults).await;
    if outcome.is_err() {
        drop(ingestion);
        // The channel carries no message; it closes when the last upload ends. The timeout covers a store that hangs.
        let _ = timeout(CLEANUP_TIMEOUT, uploads_ended.recv()).await;
    }
    outcome
}

/// Fetches these entries, or reports every faulty one; `faults` holds the entries already known to be faulty. After a failure,
/// uploads may still be cleaning up.
async fn fetch_all(
    ingestion: &Ingestion<'_>,
    targets: Vec<(usize, Target)>,
    mut faults: BTreeMap<usize, String>,
) -> Result<Vec<InputImage>, IngestError> {
    let deadline = Instant::now() + ingestion.limits.timeout;
    let mut fetched: BTreeMap<usize, StoredImage> = BTreeMap::new();
    for index in faults.keys() {
        ingestion.end(*index);
    }
    let fetches = targets.into_iter().map(|(index, target)| async move {
        let outcome = fetch_image(ingestion, index, target).await;
        ingestion.end(index);
        (index, outcome)
    });
    let mut fetches = stream::iter(fetches).buffer_unordered(MAX_CONCURRENT);
    loop {
        match timeout_at(deadline, fetches.next()).await {
            Ok(Some((index, Ok(image)))) => {
                fetched.insert(index, image);
            }
            // The other fetches continue, so that the caller learns of every fault.
            Ok(Some((index, Err(Failure::Entry(message))))) => {
                faults.insert(index, message);
            }
            Ok(Some((_, Err(Failure::Total)))) => {
                // Fetches that have ended meanwhile may have faults too.
                while let Some(Some((index, outcome))) = fetches.next().now_or_never() {
                    if let Err(Failure::Entry(message)) = outcome {
                        faults.insert(index, message);
                    }
                }
                return Err(IngestError::Invalid(InputFaults {
                    too_large: true,
                    entries: faults.into_iter().collect(),
                }));
            }
            Ok(Some((_, Err(Failure::Service(error))))) => return Err(error),
            Ok(None) => break,
            Err(_) => {
                ingestion.blame_deadline(&mut faults)?;
                break;
            }
        }
    }
    if !faults.is_empty() {
        return Err(IngestError::Invalid(InputFaults {
            too_large: false,
            entries: faults.into_iter().collect(),
        }));
    }
    Ok(fetched.into_values().map(StoredImage::keep).collect())
}
