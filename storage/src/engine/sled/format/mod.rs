//! Everything that depends on sled 0.34.7's files: the checks before sled opens them, and its checkpoint.

pub mod checkpoint;
pub mod preflight;

use std::fs;
use std::io;
use std::path::Path;

/// sled's log, which is also the file that a process locks.
pub const LOG: &str = "db";
/// The name of a checkpoint goes on with its position in the log. sled calls it a snapshot.
const CHECKPOINT_PREFIX: &str = "snap.";
/// The suffix of an unfinished checkpoint.
const UNFINISHED_SUFFIX: &str = ".generating";

/// The names of the finished and of the unfinished checkpoints.
fn checkpoint_names(directory: &Path) -> io::Result<(Vec<String>, Vec<String>)> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory)? {
        names.extend(entry?.file_name().into_string());
    }
    names.retain(|name| name.starts_with(CHECKPOINT_PREFIX));
    let is_finished = |name: &String| !name.ends_with(UNFINISHED_SUFFIX);
    Ok(names.into_iter().partition(is_finished))
}
