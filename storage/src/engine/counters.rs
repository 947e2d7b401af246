//! What an engine counts.

use crate::histogram::{GROUP_SIZES, Histogram, Reading, SHORT_DURATIONS};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Counters since the engine was opened. An engine without a disk leaves the later ones at zero.
#[derive(Clone, Debug, Default)]
pub struct EngineStats {
    /// Durable commits.
    pub commits: u64,
    /// Syncs of the disk. Commits share them.
    pub syncs: u64,
    /// Microseconds per sync.
    pub sync_times: Reading,
    pub commits_per_sync: Reading,
    /// Durable bytes of keys and values, including overwritten ones.
    pub bytes: u64,
    /// Durable bytes that only the journal holds yet.
    pub backlog_bytes: u64,
}

pub struct EngineCounters {
    commits: AtomicU64,
    bytes: AtomicU64,
    sync_times: Histogram,
    commits_per_sync: Histogram,
}

impl Default for EngineCounters {
    fn default() -> Self {
        Self {
            commits: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            sync_times: Histogram::new(SHORT_DURATIONS),
            commits_per_sync: Histogram::new(GROUP_SIZES),
        }
    }
}

impl EngineCounters {
    pub fn add_commits(&self, commits: usize) {
        self.commits.fetch_add(commits as u64, Ordering::Relaxed);
    }

    /// Adds a sync of so many commits.
    pub fn add_sync(&self, took: Duration, commits: usize, bytes: usize) {
        self.sync_times.add_duration(took);
        self.commits_per_sync.add(commits as u64);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub fn read(&self) -> EngineStats {
        let commits_per_sync = self.commits_per_sync.read();
        EngineStats {
            commits: self.commits.load(Ordering::Relaxed),
            syncs: commits_per_sync.count(),
            sync_times: self.sync_times.read(),
            commits_per_sync,
            bytes: self.bytes.load(Ordering::Relaxed),
            backlog_bytes: 0,
        }
    }
}
