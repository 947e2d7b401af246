//! One ingestion: all entries side by side, under one deadline and one count of bytes.

use std::{cell::Cell, collections::BTreeMap, future::Future};

use futures_util::stream::{self, StreamExt};
use object_store::path::Path;
use tintype_egress::Client;
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::{
    InputImage, InputLimits, SharedStore,
    fault::{Failure, IngestError, InputFaults, StoreFault},
    fetch::{Landed, fetch},
    memory_budget::NoRoom,
    upload::Alive,
};

/// Fetches that run side by side: as many as a request may have entries.
const SIDE_BY_SIDE: usize = 14;
/// Who an entry is waiting for; it decides whose fault a missed deadline is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Fetching,
    /// For memory that other calls hold.
    Waiting,
    Storing,
    Over,
}

/// How far one entry is.
struct Progress {
    /// Bytes that have arrived.
    arrived: Cell<u64>,
    /// Bytes that it will have at least: declared or arrived, whichever is more.
    expected: Cell<u64>,
    stage: Cell<Stage>,
}

/// What the fetches of one ingestion share. They all run on one thread.
pub(super) struct Ingestion<'a> {
    pub egress: &'a Client,
    pub store: SharedStore,
    pub prefix: &'a Path,
    pub limits: &'a InputLimits,
    pub alive: Alive,
    progress: Vec<Progress>,
}

impl<'a> Ingestion<'a> {
    pub fn new(
        egress: &'a Client,
        store: SharedStore,
        prefix: &'a Path,
        limits: &'a InputLimits,
        alive: Alive,
        entries: usize,
    ) -> Self {
        let progress = || Progress {
            arrived: Cell::new(0),
            expected: Cell::new(0),
            stage: Cell::new(Stage::Fetching),
        };
        Self {
            egress,
            store,
            prefix,
            limits,
            alive,
            progress: std::iter::repeat_with(progress).take(entries).collect(),
        }
    }

    /// Notes that an entry has declared its length.
    pub fn expect(&self, index: usize, bytes: u64) -> Result<(), Failure> {
        let expected = &self.progress[index].expected;
        expected.set(expected.get().max(bytes));
        let total = self
            .progress
            .iter()
            .fold(0_u64, |sum, entry| sum.saturating_add(entry.expected.get()));
        if total > self.limits.max_total_bytes {
            Err(Failure::Total)
        } else {
            Ok(())
        }
    }

    /// Counts bytes of an entry.
    pub fn arrived(&self, index: usize, bytes: usize) -> Result<(), Failure> {
        let arrived = &self.progress[index].arrived;
        arrived.set(arrived.get() + bytes as u64);
        self.expect(index, arrived.get())
    }

    /// Does something that may take time, remembering what it is.
    pub async fn at<T>(&self, index: usize, stage: Stage, work: impl Future<Output = T>) -> T {
        let before = self.progress[index].stage.replace(stage);
        let outcome = work.await;
        self.progress[index].stage.set(before);
        outcome
    }

    /// Fetches these entries, or reports what is wrong with all that are wrong; `faults` are those of the others. When it fails,
    /// uploads may still be at their clean-up.
    pub async fn run(
        &self,
        urls: Vec<(usize, Url)>,
        mut faults: BTreeMap<usize, String>,
    ) -> Result<Vec<InputImage>, IngestError> {
        let deadline = Instant::now() + self.limits.timeout;
        let mut landed: BTreeMap<usize, Landed> = BTreeMap::new();
        for (index, progress) in self.progress.iter().enumerate() {
            if faults.contains_key(&index) {
                progress.stage.set(Stage::Over);
            }
        }
        let fetches = urls.into_iter().map(|(index, url)| async move {
            let outcome = fetch(self, index, url).await;
            self.progress[index].stage.set(Stage::Over);
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
                    self.blame_deadline(&mut faults)?;
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

    fn blame_deadline(&self, faults: &mut BTreeMap<usize, String>) -> Result<(), IngestError> {
        let stages: Vec<_> = self
            .progress
            .iter()
            .map(|entry| entry.stage.get())
            .collect();
        if faults.is_empty() && stages.contains(&Stage::Storing) {
            return Err(StoreFault::TimedOut.into());
        }
        if faults.is_empty() && stages.contains(&Stage::Waiting) {
            return Err(NoRoom.into());
        }
        let seconds = self.limits.timeout.as_secs_f32();
        for (index, _) in stages
            .iter()
            .enumerate()
            .filter(|(_, stage)| **stage == Stage::Fetching)
        {
            faults.insert(index, format!("was not complete after {seconds} seconds"));
        }
        Ok(())
    }
}
