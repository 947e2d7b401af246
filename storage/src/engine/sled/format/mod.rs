//! Everything that depends on sled 0.34.7's files: the checks before sled opens them, and its checkpoint.

pub mod checkpoint;
pub mod preflight;

/// sled's log, which is also the file that a process locks.
pub const LOG: &str = "db";
