//! The files of the journal: their names, and which files are still needed.

use super::{GroupNumber, Layout};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const EXTENSION: &str = "journal";
/// The name of a file until its header is durable.
const UNNAMED: &str = "next";

/// The file whose first group is `first`.
pub fn path(directory: &Path, first: GroupNumber) -> PathBuf {
    directory.join(format!("{first:016x}.{EXTENSION}"))
}

/// The files in a directory, oldest first, with the number of the first group from the name.
pub fn list(directory: &Path) -> io::Result<Vec<(GroupNumber, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let stem = path.file_stem().and_then(|it| it.to_str());
        let first = stem.and_then(|it| GroupNumber::from_str_radix(it, 16).ok());
        if let Some(first) = first.filter(|_| path.extension().is_some_and(|it| it == EXTENSION)) {
            found.push((first, path));
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// The path of a new file before it gets its name.
pub fn unnamed_path(directory: &Path) -> PathBuf {
    directory.join(UNNAMED)
}

/// Is there no file? Once a journal exists, it always has a file.
pub fn is_empty(directory: &Path) -> io::Result<bool> {
    Ok(list(directory)?.is_empty())
}

/// Makes names durable.
pub fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// A complete file.
#[derive(Debug)]
struct Full {
    path: PathBuf,
    last: GroupNumber,
    bytes: u64,
}

/// The complete files. Shared by the committer and the flusher.
#[derive(Clone, Debug)]
pub struct Segments {
    full: Arc<Mutex<VecDeque<Full>>>,
    layout: Layout,
}

impl Segments {
    pub fn new(layout: Layout) -> Self {
        Self {
            full: Arc::default(),
            layout,
        }
    }

    /// Adds a file of `bytes` bytes whose last group is `last`. Add files in order, and each one once.
    pub fn add(&self, path: PathBuf, last: GroupNumber, bytes: u64) {
        let mut full = self.full.lock();
        assert!(
            full.iter().all(|it| it.path != path) && full.back().is_none_or(|it| it.last <= last),
            "{} is added out of order",
            path.display()
        );
        full.push_back(Full { path, last, bytes });
    }

    /// Deletes the files whose groups are all durable in sled, up to `applied`, except the newest ones. A process that runs for
    /// a second leaves short files; as many of those are kept as make up a full one.
    pub fn release(&self, applied: GroupNumber) -> io::Result<()> {
        loop {
            let mut files = self.full.lock();
            let oldest = files.front().is_some_and(|it| it.last <= applied);
            let left: u64 = files.iter().skip(1).map(|it| it.bytes).sum();
            if !oldest || files.len() <= self.layout.kept || left < self.layout.kept_bytes() {
                return Ok(());
            }
            let Some(full) = files.pop_front() else {
                return Ok(());
            };
            drop(files);
            fs::remove_file(full.path)?;
        }
    }
}
