//! The files of the WAL: their names, and which of them are still needed.

use super::{GroupNumber, Layout};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const EXTENSION: &str = "journal";
/// The name of a file until its header is on the disk.
const UNNAMED: &str = "next";

/// The name of the file whose first group is `first`.
pub fn path(directory: &Path, first: GroupNumber) -> PathBuf {
    directory.join(format!("{first:016x}.{EXTENSION}"))
}

/// The files in a directory, oldest first, with the first group of each, by its name.
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

/// Where a new file is written until it gets its name.
pub fn unnamed(directory: &Path) -> PathBuf {
    directory.join(UNNAMED)
}

/// Is there no file at all? Once a journal was begun there is one at any moment.
pub fn is_empty(directory: &Path) -> io::Result<bool> {
    Ok(list(directory)?.is_empty())
}

/// Makes names durable.
pub fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// A file that is written no more.
#[derive(Debug)]
struct Full {
    path: PathBuf,
    last: GroupNumber,
    bytes: u64,
}

/// The full files. Shared by the committer and the flusher.
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

    /// Adds a file of so many bytes whose last group is `last`. Older ones are added first, and none twice.
    pub fn add(&self, path: PathBuf, last: GroupNumber, bytes: u64) {
        let mut full = self.full.lock();
        assert!(
            full.iter().all(|it| it.path != path) && full.back().is_none_or(|it| it.last <= last),
            "{} is noted out of turn",
            path.display()
        );
        full.push_back(Full { path, last, bytes });
    }

    /// All groups up to `applied` are durable in sled: removes the files that hold no later group, but for the youngest. Of short
    /// files, such as a process that runs for a second leaves, as many are kept as make up a full one.
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
