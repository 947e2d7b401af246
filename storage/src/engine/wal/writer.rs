//! Writes groups to the end of the journal.

use super::header::{HEADER_BYTES, Header};
use super::segments::{self, Segments};
use super::{GroupNumber, Layout, frame};
use crate::engine::Write;
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use uuid::Uuid;

/// The end of a journal. A group is durable once [`Wal::file`] has been synced after [`Wal::write`].
pub struct Wal {
    directory: PathBuf,
    layout: Layout,
    segments: Segments,
    /// The group under construction.
    buffer: Vec<u8>,
    next: GroupNumber,
    current: Current,
}

/// The file being written.
struct Current {
    file: File,
    path: PathBuf,
    salt: u64,
    /// The offset of the next group.
    end: u64,
    /// The file's allocated length.
    length: u64,
}

impl Wal {
    /// Starts a file for the groups from `next` on. `segments` contains the older files already.
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

    /// Adds changes to the group under construction.
    pub fn gather(&mut self, changes: &[Write]) {
        for (key, value) in changes {
            frame::push(&mut self.buffer, key, value.as_deref());
        }
    }

    /// Writes the group under construction and returns its number. The group is not durable yet.
    ///
    /// # Errors
    /// A file system error. Write nothing more after it: a part of the group may be in the file.
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

    #[cfg(test)]
    pub fn next_number(&self) -> GroupNumber {
        self.next
    }

    /// The file that contains the last group.
    pub fn file(&self) -> &File {
        &self.current.file
    }
}

impl Current {
    /// Creates a file. The header is durable before the file gets its name, and both are durable before any group: so an
    /// unreadable header of a named file is damage. An existing file of that name contains no whole group and is replaced.
    fn begin(directory: &Path, layout: Layout, first: GroupNumber) -> io::Result<Self> {
        let unnamed = segments::unnamed_path(directory);
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

    /// Extends the file to at least `end`, in whole steps of zeros.
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
