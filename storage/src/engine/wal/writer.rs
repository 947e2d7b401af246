//! Writes groups to the end of the journal.

use super::header::{HEADER_BYTES, Header};
use super::segments::{self, Segments};
use super::{GroupNumber, Layout, frame};
use crate::engine::{Key, Value};
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use uuid::Uuid;

/// The end of a journal. A group is durable once [`Wal::file`] has been synced after [`Wal::write`].
pub struct Wal {
    directory: PathBuf,
    layout: Layout,
    segments: Segments,
    /// The group that is being gathered.
    buffer: Vec<u8>,
    next: GroupNumber,
    current: Current,
}

/// The file that is being written.
struct Current {
    file: File,
    path: PathBuf,
    salt: u64,
    /// Where the next group goes.
    end: u64,
    /// How far the file reaches.
    length: u64,
}

impl Wal {
    /// Begins a file for the groups from `next` on. Older files have been noted in `segments`.
    pub fn begin(
        directory: &Path,
        layout: Layout,
        next: GroupNumber,
        segments: Segments,
    ) -> io::Result<Self> {
        let current = Current::begin(directory, layout, next)?;
        let mut buffer = Vec::new();
        frame::begin(&mut buffer);
        Ok(Self {
            directory: directory.to_owned(),
            layout,
            segments,
            buffer,
            next,
            current,
        })
    }

    /// Adds changes to the group that is being gathered.
    pub fn gather(&mut self, changes: &[(Key, Option<Value>)]) {
        for (key, value) in changes {
            frame::push(&mut self.buffer, key, value.as_deref());
        }
    }

    /// Writes the group that was gathered and returns its number. It is not durable yet.
    ///
    /// # Errors
    /// Those of the file system. Then nothing more may be written: part of the group may be in the file.
    pub fn write(&mut self) -> io::Result<GroupNumber> {
        let number = self.next;
        let bytes = self.buffer.len() as u64;
        let empty = self.current.end == HEADER_BYTES as u64;
        if self.current.end + bytes > self.layout.segment_bytes && !empty {
            let next = Current::begin(&self.directory, self.layout, number)?;
            let full = std::mem::replace(&mut self.current, next);
            self.segments.add(full.path, number - 1, full.length);
        }
        frame::seal(&mut self.buffer, number, self.current.salt);
        self.current.append(&self.buffer, self.layout.step_bytes)?;
        frame::begin(&mut self.buffer);
        self.next += 1;
        Ok(number)
    }

    /// The number that the next group will have.
    #[cfg(test)]
    pub fn next_number(&self) -> GroupNumber {
        self.next
    }

    /// The file that the last group was written to.
    pub fn file(&self) -> &File {
        &self.current.file
    }
}

impl Current {
    /// Makes a file. Its header is on the disk before the file gets its name, and both are before any group is: so a file of that
    /// name whose header cannot be read has been damaged. A file of that name that exists already has no whole group: the new one
    /// replaces it.
    fn begin(directory: &Path, layout: Layout, first: GroupNumber) -> io::Result<Self> {
        let unnamed = segments::unnamed(directory);
        let mut file = File::create(&unnamed)?;
        let salt = Uuid::new_v4().as_u64_pair().0;
        file.write_all(&Header { first, salt }.encode())?;
        let end = HEADER_BYTES as u64;
        let mut current = Self {
            file,
            path: segments::path(directory, first),
            salt,
            end,
            length: end,
        };
        current.reach(end + 1, layout.step_bytes)?;
        current.file.sync_all()?;
        fs::rename(unnamed, &current.path)?;
        segments::sync_directory(directory)?;
        Ok(current)
    }

    fn append(&mut self, bytes: &[u8], step: u64) -> io::Result<()> {
        let end = self.end + bytes.len() as u64;
        self.reach(end, step)?;
        self.file.write_all(bytes)?;
        self.end = end;
        Ok(())
    }

    /// Lets the file reach at least as far as `end`, in whole steps of zeros.
    fn reach(&mut self, end: u64, step: u64) -> io::Result<()> {
        if end <= self.length {
            return Ok(());
        }
        let length = end.next_multiple_of(step);
        self.file.seek(SeekFrom::Start(self.length))?;
        let zeros = vec![0; usize::try_from(length - self.length).unwrap_or(usize::MAX)];
        self.file.write_all(&zeros)?;
        self.file.seek(SeekFrom::Start(self.end))?;
        self.length = length;
        Ok(())
    }
}
