//! State that the fetches of one ingestion share: limits, byte counts, and the stage of each entry.

use super::own_files::OwnFiles;
use crate::inputs::fault::{Failure, IngestError, StoreFault};
use crate::inputs::limits::InputLimits;
use crate::inputs::upload::Alive;
use crate::inputs::{MemoryUnavailable, SharedStore};
use object_store::path::Path;
use std::{cell::Cell, collections::BTreeMap, future::Future};
use tintype_egress::Client;

/// The operation that an entry waits for. It decides who is blamed for a missed deadline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    #[default]
    Fetching,
    /// For a fetch permit, or for memory that other calls hold.
    Waiting,
    Storing,
    Ended,
}

#[derive(Clone, Default)]
pub struct Progress {
    /// Bytes received.
    arrived: Cell<u64>,
    /// The larger of the declared and the received bytes.
    expected: Cell<u64>,
    stage: Cell<Stage>,
}

/// All fetches of an ingestion run on one thread.
pub struct Ingestion<'a> {
    pub egress: &'a Client,
    pub own_files: Option<OwnFiles<'a>>,
    pub store: SharedStore,
    pub prefix: &'a Path,
    /// The index of a mask.
    pub mask: Option<usize>,
    pub limits: &'a InputLimits,
    pub alive: Alive,
    /// Of each entry.
    pub progress: Vec<Progress>,
}

impl Ingestion<'_> {
    /// Records the declared length of an entry, and checks the total limit.
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

    pub fn record_bytes(&self, index: usize, bytes: usize) -> Result<(), Failure> {
        let arrived = &self.progress[index].arrived;
        arrived.set(arrived.get() + bytes as u64);
        self.expect(index, arrived.get())
    }

    /// Awaits `work` with the entry in this stage.
    pub async fn during<T>(&self, index: usize, stage: Stage, work: impl Future<Output = T>) -> T {
        let before = self.progress[index].stage.replace(stage);
        let outcome = work.await;
        self.progress[index].stage.set(before);
        outcome
    }

    pub fn end(&self, index: usize) {
        self.progress[index].stage.set(Stage::Ended);
    }

    /// Called when the deadline has passed: adds a fault for each entry that is still being fetched.
    ///
    /// # Errors
    /// When no entry is faulty, and an entry waits for the store or for memory.
    pub fn blame_deadline(&self, faults: &mut BTreeMap<usize, String>) -> Result<(), IngestError> {
        let stages: Vec<_> = self
            .progress
            .iter()
            .map(|entry| entry.stage.get())
            .collect();
        // Memory comes first: if an entry waits for it, the service is overloaded, and the store is slow for the same reason.
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
