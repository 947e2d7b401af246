//! The journal, a write-ahead log: groups of changes, each durable before its commits are answered.
//!
//! An engine's durability depends on the journal, so the journal demands little of the disk: files written front to back,
//! blocks allocated before use (so a sync changes no metadata of the file system), and one sync per group. The store behind it
//! may be slow, and may lose its last changes in a power cut: a start applies them again from the journal.

mod frame;
mod header;
mod replay;
mod segments;
mod writer;

pub use replay::{Replay, ReplayError, replay};
pub use segments::{Segments, is_empty};
pub use writer::Wal;

#[cfg(test)]
mod tests;

/// Starts at 1; no number is skipped.
pub type GroupNumber = u64;

/// Sizes of the files. The service uses [`Layout::default`], tests use smaller ones.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// A group that would exceed this size starts the next file. A larger group gets its own file.
    pub segment_bytes: u64,
    /// A file grows by so many zeros at a time.
    pub step_bytes: u64,
    /// Applied files that are kept, because the store behind the journal may have lost its last changes. Short files are kept
    /// until they add up to one full file.
    pub kept: usize,
}

impl Layout {
    /// The least number of applied bytes that are kept.
    fn kept_bytes(&self) -> u64 {
        if self.kept == 0 {
            0
        } else {
            self.segment_bytes
        }
    }
}

impl Default for Layout {
    /// Files of 16 MiB, steps of 1 MiB, two kept.
    fn default() -> Self {
        Self {
            segment_bytes: 16 << 20,
            step_bytes: 1 << 20,
            kept: 2,
        }
    }
}
