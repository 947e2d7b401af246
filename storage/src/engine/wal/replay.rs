//! Reads a journal from the front, and distinguishes a torn end from damage.
//!
//! Groups are written one after the other, each durable before the next one is begun. So only the very last one may be torn,
//! and a whole group behind one that cannot be read proves that the unreadable one was durable once: that is damage, and not
//! what a crash leaves. Damage of groups that have been applied already does no harm, and is passed over.
//!
//! A file gets its name only once its head is durable, so a head that cannot be read is damage in the last file too.

use super::header::{HEADER_BYTES, Header};
use super::segments::{self, Segments};
use super::{GroupNumber, frame};
use crate::engine::{Key, Value};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Why a journal cannot be relied on.
#[derive(Debug, thiserror::Error)]
pub enum Faults {
    /// A file could not be read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// Durable changes cannot be read.
    #[error("the journal is damaged: {} cannot be read from change {missing} on, though later ones can", .path.display())]
    Damaged {
        path: PathBuf,
        /// The first unreadable group.
        missing: GroupNumber,
    },
    /// Nothing of the last file can be read.
    #[error("the journal is damaged: neither copy of the head of {} can be read, and so none of its changes", .0.display())]
    Head(PathBuf),
    /// The store lacks changes that the journal has removed.
    #[error(
        "the store ends with change {applied}, but the journal begins only with change {oldest}"
    )]
    Gap {
        /// The last group that the store has.
        applied: GroupNumber,
        /// The first one of the journal.
        oldest: GroupNumber,
    },
}

/// What a journal holds besides its groups.
#[derive(Debug, PartialEq, Eq)]
pub struct Replayed {
    /// The number that the next group gets.
    pub next: GroupNumber,
    /// Files that hold nothing which the next group could continue: to be removed once that has a file, so that there is one at
    /// any moment.
    pub stale: Vec<PathBuf>,
}

/// Hands every group after `applied` to `each`, in order, and notes the files that are kept.
///
/// # Errors
/// See [`Faults`], and those of `each`.
pub fn replay<E: From<Faults>>(
    directory: &Path,
    applied: GroupNumber,
    segments: &Segments,
    mut each: impl FnMut(GroupNumber, Vec<(Key, Option<Value>)>) -> Result<(), E>,
) -> Result<Replayed, E> {
    let files = segments::list(directory).map_err(Faults::from)?;
    let mut reader = Reader {
        applied,
        expected: None,
    };
    let mut read = Vec::new();
    if let Some((_, last)) = files.last() {
        // A process that was killed may have written a group and not synced it. The store must not be given changes that the
        // journal would lose in a power cut.
        File::open(last)
            .and_then(|file| file.sync_data())
            .map_err(Faults::from)?;
    }
    for (index, (first, path)) in files.iter().enumerate() {
        let bytes = fs::read(path).map_err(Faults::from)?;
        let header = Header::decode(&bytes, *first);
        match (header, files.get(index + 1)) {
            (Some(header), _) => reader.file(path, &bytes, header, &mut each)?,
            (None, Some((next, _))) => {
                reader.missing(path, *first, *next)?;
                reader.expected = Some(*next);
            }
            (None, None) => return Err(E::from(Faults::Head(path.clone()))),
        }
        let last = reader.expected.map_or(applied, |expected| expected - 1);
        read.push((*first, path.clone(), last, bytes.len() as u64));
    }
    let found = reader.expected.unwrap_or(1);
    let next = found.max(applied + 1);
    let mut stale = Vec::new();
    for (first, path, last, bytes) in read {
        if found != next {
            // The next file would not continue it.
            stale.push(path);
        } else if first != next {
            segments.add(path, last, bytes);
        }
        // A file without a group is the one that is written next. Noted as full, it would be removed in use.
    }
    Ok(Replayed { next, stale })
}

struct Reader {
    applied: GroupNumber,
    /// The next group; `None` before the first file.
    expected: Option<GroupNumber>,
}

impl Reader {
    fn file<E: From<Faults>>(
        &mut self,
        path: &Path,
        bytes: &[u8],
        header: Header,
        each: &mut impl FnMut(GroupNumber, Vec<(Key, Option<Value>)>) -> Result<(), E>,
    ) -> Result<(), E> {
        match self.expected {
            None if header.first > self.applied + 1 => {
                return Err(E::from(Faults::Gap {
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
                let changes = frame::changes(frame.changes).ok_or_else(|| Faults::Damaged {
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

    /// The groups from `missing` on, up to but without `next`, cannot be read.
    fn missing(&self, path: &Path, missing: GroupNumber, next: GroupNumber) -> Result<(), Faults> {
        if next > missing && next - 1 <= self.applied {
            tracing::warn!(path = %path.display(), missing, next, "the journal is damaged, in changes that have been applied");
            return Ok(());
        }
        Err(Faults::Damaged {
            path: path.to_owned(),
            missing,
        })
    }
}
