//! The files of a journal: their names, which are still needed, and which may be written over.

use super::{GroupNumber, Layout};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const EXTENSION: &str = "journal";
/// A file to write over. It has left the row of the others, so that no gap seems to be in it.
const SPARE: &str = "spare";
/// What a file is called until its head is on the disk.
const UNNAMED: &str = "next";

/// The name of the file whose first group is `first`.
pub fn path(directory: &Path, first: GroupNumber) -> PathBuf {
    directory.join(format!("{first:016x}.{EXTENSION}"))
}

/// The files in a directory, oldest first, with the first group that each one's name tells.
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

/// The files behind the one that is being written. Shared by whoever writes and whoever applies.
#[derive(Clone, Debug)]
pub struct Segments {
    state: Arc<Mutex<State>>,
    layout: Layout,
}

#[derive(Debug, Default)]
struct State {
    full: VecDeque<Full>,
    spare: Option<PathBuf>,
}

impl Segments {
    /// None yet.
    pub fn new(layout: Layout) -> Self {
        Self {
            state: Arc::default(),
            layout,
        }
    }

    /// Notes a file of so many bytes whose last group is `last`. Older ones are noted first, and none twice: a file that was
    /// let go of for what it once held would be gone with what it holds now.
    pub fn add(&self, path: PathBuf, last: GroupNumber, bytes: u64) {
        let full = &mut self.state.lock().full;
        assert!(
            full.iter().all(|it| it.path != path) && full.back().is_none_or(|it| it.last <= last),
            "{} is noted out of turn",
            path.display()
        );
        full.push_back(Full { path, last, bytes });
    }

    /// All groups up to `applied` are durable elsewhere: lets go of the files that hold no other, but for the youngest. Of short
    /// files, which a life of a second leaves, so many are kept as make up one that is full.
    pub fn release(&self, applied: GroupNumber) -> io::Result<()> {
        loop {
            let mut state = self.state.lock();
            let oldest = state.full.front().is_some_and(|it| it.last <= applied);
            let left: u64 = state.full.iter().skip(1).map(|it| it.bytes).sum();
            if !oldest || state.full.len() <= self.layout.kept || left < self.layout.kept_bytes() {
                return Ok(());
            }
            let Some(full) = state.full.pop_front() else {
                return Ok(());
            };
            if state.spare.is_none() {
                let spare = full.path.with_file_name(SPARE);
                fs::rename(full.path, &spare)?;
                state.spare = Some(spare);
            } else {
                drop(state);
                fs::remove_file(full.path)?;
            }
        }
    }

    /// Takes over the spare file that an earlier process left.
    pub fn find_spare(&self, directory: &Path) {
        let spare = directory.join(SPARE);
        self.state.lock().spare = spare.is_file().then_some(spare);
    }

    /// Where the next file is made: there lies the one to write over, if there is one, or what a crash has left of another.
    ///
    /// Under the lock: a file that is let go of meanwhile takes the spare's name, and would be given away in its place, and
    /// the spare that is then still noted would not be there.
    pub fn unnamed(&self, directory: &Path) -> io::Result<PathBuf> {
        let unnamed = directory.join(UNNAMED);
        let mut state = self.state.lock();
        if let Some(spare) = &state.spare {
            fs::rename(spare, &unnamed)?;
            state.spare = None;
        }
        Ok(unnamed)
    }
}
