//! All that knows the files of sled 0.34.7: what is checked before sled opens them, and how its checkpoint is brought forward.

pub mod checkpoint;
pub mod preflight;

/// The file of sled's log, which is also what a process locks.
pub const LOG: &str = "db";
