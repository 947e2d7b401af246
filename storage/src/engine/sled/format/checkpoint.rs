//! sled's snapshot file, a checkpoint: the location of each page in the log. With it a start reads only the later part of the
//! log.
//!
//! sled writes a checkpoint only at a start, so a start would read all log since the last one: gigabytes after some millions of
//! jobs. So the flusher advances the checkpoint between two flushes, when no thread writes to sled. The new checkpoint is
//! computed as a start does, from the previous one and sled's own reading of the later log. If anything is unexpected, the
//! previous one stays, which only costs the next start time.

use super::super::super::EngineError;
use super::super::io_advice::io_failed;
use super::super::sled_tree::SledTree;
use super::preflight::SEGMENT_BYTES;
use super::{CHECKPOINT_PREFIX, UNFINISHED_SUFFIX, checkpoint_names};
use ::sled::{DiskPtr, LogKind, Lsn, MAX_MSG_HEADER_LEN, PageId, SEG_HEADER_LEN, Serialize};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

/// The log may grow by this multiple of the checkpoint's size before the next one: writing checkpoints costs little compared
/// with the log, and reading that log little compared with the checkpoint.
const LOG_PER_CHECKPOINT: u64 = 4;
/// Log messages read per step.
const STEP_MESSAGES: usize = 4_096;
/// Bytes written between syncs.
const STEP_BYTES: usize = 4 << 20;
/// The trailer after the pages: their length and a checksum.
const TRAILER_BYTES: usize = 12;

/// A part of a page: its position in the log's order, its location and its length.
type Piece = (Lsn, DiskPtr, u64);

/// What happened to a page since the previous checkpoint.
enum Change {
    /// It was rewritten.
    Rewritten(Vec<Piece>),
    /// Something was appended.
    Appended(Vec<Piece>),
    Freed(Lsn, DiskPtr),
}

/// How far the checkpoint on disk reaches.
pub struct Checkpoints {
    directory: PathBuf,
    min_growth: u64,
    /// The end of the log at the last attempt.
    reached: Lsn,
    /// The size of the last checkpoint.
    bytes: u64,
}

impl Checkpoints {
    /// Call it right after sled was opened, which writes a checkpoint. The next one is due when the log has grown by `min_growth`
    /// bytes.
    pub fn new(directory: PathBuf, min_growth: u64, sled: &SledTree) -> Self {
        let reached = sled.db.context.pagecache.log.stable_offset();
        Self {
            directory,
            min_growth,
            reached,
            bytes: 0,
        }
    }

    /// Writes a new checkpoint if the log has grown enough. No other thread may write to sled meanwhile. Calls `each_step`
    /// after each short step.
    ///
    /// # Errors
    /// A disk error.
    pub fn advance(&mut self, sled: &SledTree, each_step: impl Fn()) -> Result<(), EngineError> {
        let end = sled.db.context.pagecache.log.stable_offset();
        let grown = u64::try_from(end - self.reached).unwrap_or(0);
        if grown < self.min_growth.max(self.bytes * LOG_PER_CHECKPOINT) {
            return Ok(());
        }
        self.reached = end;
        // The log is durable before the checkpoint that points into it.
        sled.sync()?;
        let written = self.write(sled, end, &each_step);
        let written = written.map_err(|error| io_failed("the checkpoint of the store", &error))?;
        match written {
            Some(bytes) => self.bytes = bytes,
            None => tracing::warn!("could not advance the checkpoint of the store"),
        }
        Ok(())
    }

    /// Returns the new size; `None` if the log or the previous checkpoint is not as expected.
    fn write(&self, sled: &SledTree, end: Lsn, each_step: &impl Fn()) -> io::Result<Option<u64>> {
        let Some(before) = PreviousCheckpoint::read(&self.directory)? else {
            return Ok(None);
        };
        each_step();
        let Some((changes, tip)) = read_changes(sled, before.end, end, each_step) else {
            return Ok(None);
        };
        let name = format!("{CHECKPOINT_PREFIX}{:016X}", tip.end);
        let unfinished = self.directory.join(format!("{name}{UNFINISHED_SUFFIX}"));
        let finished = self.directory.join(name);
        let mut after = CheckpointWriter::begin(&unfinished, each_step)?;
        after.put(&Some(tip.end))?;
        after.put(&Some(tip.segment))?;
        if !write_pages(&mut after, before.pages(), changes)? {
            fs::remove_file(unfinished)?;
            return Ok(None);
        }
        let bytes = after.end()?;
        fs::rename(unfinished, &finished)?;
        File::open(&self.directory)?.sync_all()?;
        if let Some(path) = before.path.filter(|path| *path != finished) {
            fs::remove_file(path)?;
        }
        each_step();
        Ok(Some(bytes))
    }
}

/// The end of the log, and its offset within a segment.
struct LogEnd {
    end: Lsn,
    segment: u64,
}

/// Reads the log from `from` to `last`, inclusive.
fn read_changes(
    sled: &SledTree,
    from: Lsn,
    last: Lsn,
    each_step: &impl Fn(),
) -> Option<(BTreeMap<PageId, Change>, LogEnd)> {
    let mut changes: BTreeMap<PageId, Change> = BTreeMap::new();
    let mut log = sled.db.context.pagecache.log.iter_from(from);
    for (number, (kind, page, at, place, bytes)) in log.by_ref().enumerate() {
        if number % STEP_MESSAGES == 0 {
            each_step();
        }
        if at < from {
            continue;
        }
        let piece = (at, place, bytes);
        match (kind, changes.entry(page)) {
            (LogKind::Replace, entry) => {
                entry.insert_entry(Change::Rewritten(vec![piece]));
            }
            (LogKind::Free, entry) => {
                entry.insert_entry(Change::Freed(at, place));
            }
            (LogKind::Link, Entry::Vacant(entry)) => {
                entry.insert(Change::Appended(vec![piece]));
            }
            (LogKind::Link, Entry::Occupied(mut entry)) => match entry.get_mut() {
                Change::Rewritten(pieces) | Change::Appended(pieces) => pieces.push(piece),
                // Ignore an append to a missing page, as a start does.
                Change::Freed(..) => {}
            },
            (LogKind::Skip | LogKind::Corrupted, _) => return None,
        }
    }
    let (end, segment) = (log.cur_lsn?, log.segment_base.as_ref()?.offset);
    // Any position but the middle of a segment is stored differently, and does not last.
    let within = usize::try_from(end).ok()? % SEGMENT_BYTES;
    let in_the_middle = within >= SEG_HEADER_LEN && within + MAX_MSG_HEADER_LEN < SEGMENT_BYTES;
    (end == last + 1 && in_the_middle).then_some((changes, LogEnd { end, segment }))
}

/// The existing checkpoint, if any.
struct PreviousCheckpoint {
    path: Option<PathBuf>,
    bytes: Vec<u8>,
    /// The offset of its pages.
    pages: usize,
    end: Lsn,
}

impl PreviousCheckpoint {
    /// `None` if it is not trustworthy.
    fn read(directory: &Path) -> io::Result<Option<Self>> {
        let (finished, _) = checkpoint_names(directory)?;
        let Some(newest) = finished.into_iter().max() else {
            return Ok(Some(Self {
                path: None,
                bytes: Vec::new(),
                pages: 0,
                end: 0,
            }));
        };
        let path = directory.join(newest);
        let mut bytes = fs::read(&path)?;
        let Some(length) = bytes.len().checked_sub(TRAILER_BYTES) else {
            return Ok(None);
        };
        let found = bytes.split_off(length);
        if found != trailer(bytes.len() as u64, crc32fast::hash(&bytes)) {
            return Ok(None);
        }
        let mut rest = bytes.as_slice();
        let end = Option::<Lsn>::deserialize(&mut rest).ok().flatten();
        let segment = Option::<u64>::deserialize(&mut rest).ok();
        let pages = bytes.len() - rest.len();
        Ok(end.filter(|_| segment.is_some()).map(|end| Self {
            path: Some(path),
            bytes,
            pages,
            end,
        }))
    }

    fn pages(&self) -> Pages<'_> {
        Pages(&self.bytes[self.pages..])
    }
}

/// The encoded pages of a checkpoint: the number of pieces, none for a free page, and the pieces.
struct Pages<'a>(&'a [u8]);

impl<'a> Pages<'a> {
    /// The next page, if any; `Err` if it is unreadable.
    fn next(&mut self) -> Result<Option<&'a [u8]>, ::sled::Error> {
        let whole = self.0;
        let Some(pieces) = whole.first() else {
            return Ok(None);
        };
        let mut rest = &whole[1..];
        if *pieces == 0 {
            <(Lsn, DiskPtr)>::deserialize(&mut rest)?;
        }
        for _ in 0..*pieces {
            Piece::deserialize(&mut rest)?;
        }
        self.0 = rest;
        Ok(Some(&whole[..whole.len() - rest.len()]))
    }
}

/// Writes all pages with their changes; `false` if the changes do not match the pages.
fn write_pages(
    after: &mut CheckpointWriter<impl Fn()>,
    mut before: Pages<'_>,
    changes: BTreeMap<PageId, Change>,
) -> io::Result<bool> {
    let mut changes = changes.into_iter().peekable();
    for page in 0.. {
        let Ok(old) = before.next() else {
            return Ok(false);
        };
        let change = changes.next_if(|(changed, _)| *changed == page);
        match (old, change.map(|(_, change)| change)) {
            (None, None) => return Ok(changes.peek().is_none()),
            (_, Some(Change::Rewritten(pieces))) => {
                let Ok(count) = u8::try_from(pieces.len()) else {
                    return Ok(false);
                };
                after.put(&count)?;
                pieces.iter().try_for_each(|piece| after.put(piece))?;
            }
            (_, Some(Change::Freed(at, place))) => {
                after.put(&0_u8)?;
                after.put(&(at, place))?;
            }
            (Some(old), Some(Change::Appended(pieces))) if old[0] > 0 => {
                let count = u8::try_from(pieces.len()).ok();
                let Some(count) = count.and_then(|count| count.checked_add(old[0])) else {
                    return Ok(false);
                };
                after.put(&count)?;
                after.write(&old[1..])?;
                pieces.iter().try_for_each(|piece| after.put(piece))?;
            }
            (Some(old), _) => after.write(old)?,
            // An append to a page that was never written whole.
            (None, Some(Change::Appended(_))) => return Ok(false),
        }
    }
    Ok(false)
}

/// A checkpoint being written.
struct CheckpointWriter<'a, F> {
    file: BufWriter<File>,
    checksum: crc32fast::Hasher,
    bytes: u64,
    unsynced: usize,
    each_step: &'a F,
}

impl<'a, F: Fn()> CheckpointWriter<'a, F> {
    fn begin(path: &Path, each_step: &'a F) -> io::Result<Self> {
        Ok(Self {
            file: BufWriter::new(File::create(path)?),
            checksum: crc32fast::Hasher::new(),
            bytes: 0,
            unsynced: 0,
            each_step,
        })
    }

    fn put(&mut self, item: &impl Serialize) -> io::Result<()> {
        self.write(&item.serialize())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.checksum.update(bytes);
        self.bytes += bytes.len() as u64;
        self.file.write_all(bytes)?;
        self.unsynced += bytes.len();
        if self.unsynced > STEP_BYTES {
            self.unsynced = 0;
            self.file.flush()?;
            self.file.get_ref().sync_data()?;
            (self.each_step)();
        }
        Ok(())
    }

    /// Returns the size once it is durable.
    fn end(mut self) -> io::Result<u64> {
        let end = trailer(self.bytes, self.checksum.finalize());
        self.file.write_all(&end)?;
        self.file.flush()?;
        self.file.get_ref().sync_all()?;
        Ok(self.bytes + TRAILER_BYTES as u64)
    }
}

fn trailer(bytes: u64, checksum: u32) -> Vec<u8> {
    [&bytes.to_le_bytes()[..], &checksum.to_le_bytes()].concat()
}
