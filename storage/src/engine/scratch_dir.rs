//! A temporary directory for a copy of records.
//!
//! A process that is interrupted or killed leaves its directory behind. The next process of the same user deletes it. A handler for
//! signals was refused: it would run during the copy, and not after a SIGKILL.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const PREFIX: &str = "tintype-scratch-";
/// The process that uses the directory has this file locked.
const LOCK: &str = "lock";
const CONTENT: &str = "content";

/// Dropping it deletes the directory.
pub struct ScratchDir {
    content: PathBuf,
    _directory: TempDir,
    _lock: File,
}

impl ScratchDir {
    /// Creates a directory that only this user can read, and deletes those that ended processes of this user have left in `parent`.
    ///
    /// # Errors
    /// The directory cannot be created.
    pub fn create_in(parent: &Path) -> io::Result<Self> {
        let directory = TempDir::with_prefix_in(PREFIX, parent)?;
        remove_leftovers(parent, fs::metadata(directory.path())?.uid());
        let new = directory.path().join("new");
        let lock = File::create(&new)?;
        // Locked before it gets its name, so that no other process takes the directory for a leftover. Without the name, on a file
        // system without locks, no process does.
        if lock.try_lock().is_ok() {
            fs::rename(new, directory.path().join(LOCK))?;
        }
        let content = directory.path().join(CONTENT);
        fs::create_dir(&content)?;
        Ok(Self {
            content,
            _directory: directory,
            _lock: lock,
        })
    }

    pub fn path(&self) -> &Path {
        &self.content
    }
}

/// Other processes may delete the same leftovers, so failures do not matter.
fn remove_leftovers(parent: &Path, user: u32) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_scratch = name.to_str().is_some_and(|it| it.starts_with(PREFIX));
        // The metadata of an entry is that of a symbolic link itself.
        let is_of_user = |it: fs::Metadata| it.is_dir() && it.uid() == user;
        if is_scratch && entry.metadata().is_ok_and(is_of_user) && is_unlocked(&entry.path()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn is_unlocked(directory: &Path) -> bool {
    File::open(directory.join(LOCK)).is_ok_and(|it| it.try_lock().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_of_an_ended_process_is_deleted_and_that_of_a_living_one_stays() {
        let parent = tempfile::tempdir().expect("a directory");
        let create = || ScratchDir::create_in(parent.path()).expect("a directory");
        let living = create();
        fs::write(living.path().join("records"), "in use").expect("a file");
        let ended = parent.path().join(format!("{PREFIX}ended"));
        fs::create_dir_all(ended.join(CONTENT)).expect("a directory");
        fs::write(ended.join(LOCK), "").expect("a file");
        fs::write(ended.join(CONTENT).join("records"), "left").expect("a file");
        let other = parent.path().join("tintype-other");
        fs::create_dir_all(&other).expect("a directory");
        fs::write(other.join(LOCK), "").expect("a file");
        let next = create();
        assert!(!ended.exists());
        assert!(living.path().join("records").exists() && other.exists());
        drop((living, next));
        let left = fs::read_dir(parent.path()).expect("a directory").count();
        assert_eq!(left, 1);
    }
}
