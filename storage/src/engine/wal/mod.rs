//! The journal: an append-only log of groups of changes, each durable before its commits are answered.
//!
//! An engine's durability depends on it, so it asks little of the disk: files that are written from front to back, blocks that exist
//! before they are used (syncing them changes no metadata of the file system), and one sync for a whole group. The store behind it
//! may be slow, and may lose its last changes in a power cut: a start applies them again from the journal.

mod frame;
mod header;
mod replay;
mod segments;
mod writer;

pub use replay::{Faults, Replayed, replay};
pub use segments::{Segments, is_empty};
pub use writer::Wal;

#[cfg(test)]
mod tests;

/// The number of a group: 1 is the first one ever, and none is left out.
pub type GroupNumber = u64;

/// Sizes of the files. The service uses [`Layout::default`], tests use smaller ones.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// A group that would pass this begins the next file. One that is larger by itself gets a file of its own.
    pub segment_bytes: u64,
    /// A file grows by so many zeros at a time.
    pub step_bytes: u64,
    /// Files that are kept although their groups have been applied: the store behind the journal may turn out to have lost its
    /// last changes. They are more where together they would be smaller than one full file.
    pub kept: usize,
}

impl Layout {
    /// The least that is kept of what has been applied.
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
