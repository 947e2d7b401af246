//! One ingestion: all entries side by side, under one deadline and one count of bytes.

use std::collections::BTreeMap;

use futures_util::stream::{self, StreamExt};
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::{
    InputImage,
    fault::{Failure, IngestError, InputFaults, StoreFault},
    fetch::{Landed, fetch},
    progress::Ingestion,
};

/// Fetches that run side by side: as many as a request may have entries.
const SIDE_BY_SIDE: usize = 14;

/// Fetches these entries, or reports what is wrong with all that are wrong; `faults` are those of the others. When it fails,
/// uploads may still be at their clean-up.
pub(super) async fn run(
    ingestion: &Ingestion<'_>,
    urls: Vec<(usize, Url)>,
    mut faults: BTreeMap<usize, String>,
) -> Result<Vec<InputImage>, IngestError> {
    let deadline = Instant::now() + ingestion.limits.timeout;
    let mut landed: BTreeMap<usize, Landed> = BTreeMap::new();
    for index in faults.keys() {
        ingestion.end(*index);
    }
    let fetches = urls.into_iter().map(|(index, url)| async move {
        let outcome = fetch(ingestion, index, url).await;
        ingestion.end(index);
        (index, outcome)
    });
    let mut fetches = stream::iter(fetches).buffer_unordered(SIDE_BY_SIDE);
    // One round for each entry, and one for the end.
    loop {
        match timeout_at(deadline, fetches.next()).await {
            Ok(Some((index, Ok(image)))) => {
                landed.insert(index, image);
            }
            // The others go on: their faults are told as well.
            Ok(Some((index, Err(Failure::Entry(message))))) => {
                faults.insert(index, message);
            }
            Ok(Some((_, Err(Failure::Total)))) => {
                return Err(IngestError::Invalid(InputFaults {
                    too_large: true,
                    entries: faults.into_iter().collect(),
                }));
            }
            Ok(Some((_, Err(Failure::Store(error))))) => {
                return Err(StoreFault::Failed(error).into());
            }
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
    let keep = |Landed { image, stored }| {
        stored.keep();
        image
    };
    Ok(landed.into_values().map(keep).collect())
}
