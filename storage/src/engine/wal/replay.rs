//! Replays a journal and distinguishes a torn end from damage.
//!
//! Each group is durable before the next one is written. So only the last group may be torn. A whole group after an unreadable
//! one proves that the unreadable one was durable: that is damage, not the effect of a crash. Damage of applied groups is
//! harmless and skipped.
//!
//! A file gets its name only after its header is durable, so an unreadable header is damage in the last file too.

use super::header::{HEADER_BYTES, Header};
use super::segments::{self, Segments};
use super::{GroupNumber, frame};
use crate::engine::Writes;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Why a journal cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("the journal is damaged: {} cannot be read from change {missing} on, though later ones can", .path.display())]
    Damaged {
        path: PathBuf,
        /// The first unreadable group.
        missing: GroupNumber,
    },
    #[error("the journal is damaged: neither copy of the header of {} can be read", .0.display())]
    Header(PathBuf),
    /// The journal has deleted changes that the store lacks.
    #[error(
        "the store ends with change {applied}, but the journal begins only with change {oldest}"
    )]
    Gap {
        /// The last group in the store.
        applied: GroupNumber,
        /// The first group in the journal.
        oldest: GroupNumber,
    },
}

#[derive(Debug, PartialEq, Eq)]
pub struct Replay {
    /// The number of the next group.
    pub next: GroupNumber,
    /// Files that the next group cannot continue. Delete them once that group has a file, so that a file always exists.
    pub stale: Vec<PathBuf>,
}

/// Passes every group after `applied` to `each`, in order, and adds the kept files to `segments`.
///
/// # Errors
/// See [`ReplayError`], and the errors of `each`.
pub fn replay<E: From<ReplayError>>(
    directory: &Path,
    applied: GroupNumber,
    segments: &Segments,
    mut each: impl FnMut(GroupNumber, Writes) -> Result<(), E>,
) -> Result<Replay, E> {
    let files = segments::list(directory).map_err(ReplayError::from)?;
    let mut reader = Reader {
        applied,
        expected: None,
    };
    let mut read = Vec::new();
    if let Some((_, last)) = files.last() {
        // A killed process may have written a group without syncing it. The store must not get changes that the journal could
        // lose in a power cut.
        File::open(last)
            .and_then(|file| file.sync_data())
            .map_err(ReplayError::from)?;
    }
    for (index, (first, path)) in files.iter().enumerate() {
        let bytes = fs::read(path).map_err(ReplayError::from)?;
        let header = Header::decode(&bytes, *first);
        match (header, files.get(index + 1)) {
            (Some(header), _) => reader.file(path, &bytes, header, &mut each)?,
            (None, Some((next, _))) => {
                reader.missing(path, *first, *next)?;
                reader.expected = Some(*next);
            }
            (None, None) => return Err(E::from(ReplayError::Header(path.clone()))),
        }
        let last = reader.expected.map_or(applied, |expected| expected - 1);
        read.push((*first, path.clone(), last, bytes.len() as u64));
    }
    let found = reader.expected.unwrap_or(1);
    let next = found.max(applied + 1);
    let mut stale = Vec::new();
    for (first, path, last, bytes) in read {
        if found != next {
            // The next file would not continue this one.
            stale.push(path);
        } else if first != next {
            segments.add(path, last, bytes);
        }
        // A file without a group is written next. In `segments` it would be deleted while in use.
    }
    Ok(Replay { next, stale })
}

struct Reader {
    applied: GroupNumber,
    /// The next group; `None` before the first file.
    expected: Option<GroupNumber>,
}

impl Reader {
    fn file<E: From<ReplayError>>(
        &mut self,
        path: &Path,
        bytes: &[u8],
        header: Header,
        each: &mut impl FnMut(GroupNumber, Writes) -> Result<(), E>,
    ) -> Result<(), E> {
        match self.expected {
            None if header.first > self.applied + 1 => {
                return Err(E::from(ReplayError::Gap {
                    applied: self.applied,
                    oldest: header.first,
                }));
            }
            Some(expected) if header.first != expected => {
                self.missing(path, expected, header.first)?;
            }
            _ => {}
        }
        let mut expected = header.first;
        let mut at = HEADER_BYTES;
        loop {
            let frame = bytes
                .get(at..)
                .and_then(|rest| frame::read(rest, expected..=expected, header.salt));
            let Some(frame) = frame else {
                let Some((later, frame)) = frame::find(bytes, at, expected + 1, header.salt) else {
                    break;
                };
                self.missing(path, expected, frame.number)?;
                (at, expected) = (later, frame.number);
                continue;
            };
            if frame.number > self.applied {
                let changes =
                    frame::changes(frame.changes).ok_or_else(|| ReplayError::Damaged {
                        path: path.to_owned(),
                        missing: frame.number,
                    })?;
                each(frame.number, changes)?;
            }
            at += frame.bytes();
            expected += 1;
        }
        self.expected = Some(expected);
        Ok(())
    }

    /// Reports the unreadable groups from `missing` (inclusive) to `next` (exclusive).
    fn missing(
        &self,
        path: &Path,
        missing: GroupNumber,
        next: GroupNumber,
    ) -> Result<(), ReplayError> {
        if next > missing && next - 1 <= self.applied {
            tracing::warn!(path = %path.display(), missing, next, "the journal is damaged, in changes that have been applied");
            return Ok(());
        }
        Err(ReplayError::Damaged {
            path: path.to_owned(),
            missing,
        })
    }
}
