//! What the fetches of one ingestion share: its bounds, its count of bytes, and how far each entry is.

use std::{cell::Cell, collections::BTreeMap, future::Future};

use object_store::path::Path;
use tintype_egress::Client;

use super::{
    InputLimits, SharedStore,
    fault::{Failure, IngestError, StoreFault},
    memory_budget::MemoryUnavailable,
    upload::Alive,
};

/// Who an entry is waiting for; it decides whose fault a missed deadline is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Fetching,
    /// For its turn, or for memory that other calls hold.
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

    /// Notes that an entry is over, be it stored or faulty.
    pub fn end(&self, index: usize) {
        self.progress[index].stage.set(Stage::Over);
    }

    /// The deadline has passed: adds a fault for each entry that was still being fetched.
    ///
    /// # Errors
    /// No entry is faulty, and the deadline was missed for the store or for memory.
    pub fn blame_deadline(&self, faults: &mut BTreeMap<usize, String>) -> Result<(), IngestError> {
        let stages: Vec<_> = self
            .progress
            .iter()
            .map(|entry| entry.stage.get())
            .collect();
        // Where some entry waits for memory, the service is overloaded, and the store is slow for the same reason.
        if faults.is_empty() && stages.contains(&Stage::Waiting) {
            return Err(MemoryUnavailable.into());
        }
        if faults.is_empty() && stages.contains(&Stage::Storing) {
            return Err(StoreFault::TimedOut.into());
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
