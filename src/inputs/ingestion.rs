//! One ingestion: fetches all entries concurrently, under one deadline and one byte limit.

use super::{
    InputImage,
    fault::{Failure, IngestError, InputFaults},
    fetch::{Target, fetch},
    image_upload::StoredImage,
    progress::Ingestion,
};
use futures_util::FutureExt as _;
use futures_util::stream::{self, StreamExt};
use std::collections::BTreeMap;
use tokio::time::{Instant, timeout_at};

/// A request has at most this many entries.
const MAX_CONCURRENT: usize = 14;

/// Fetches these entries, or reports every faulty one; `faults` holds the entries already known to be faulty. After a failure,
/// uploads may still be cleaning up.
pub(super) async fn run(
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
        let outcome = fetch(ingestion, index, target).await;
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
