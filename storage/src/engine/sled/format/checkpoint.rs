//! sled's snapshot, which is a checkpoint: where in its log each page is. With it a start reads only the later part of the log.
//!
//! sled writes one at each start and never afterwards, so a start would read the log of a whole life: gigabytes after some millions of
//! jobs. So the flusher advances the checkpoint while the service runs, between two flushes, when no thread writes to sled. It is made as
//! a start makes it, from the one before and sled's own reading of the log since. Where anything is not as expected, the one before
//! stays, which costs the next start time and nothing else.

use super::super::super::EngineError;
use super::super::io_advice::explain;
use super::super::sled_tree::SledTree;
use super::preflight::{HALF, SEGMENT_BYTES, SNAPSHOT};
use ::sled::{DiskPtr, LogKind, Lsn, MAX_MSG_HEADER_LEN, PageId, SEG_HEADER_LEN, Serialize};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

/// Of the log may come since a snapshot as many times its size before there is another: so writing them costs little beside
/// what is written to the log, and reading that little beside reading the snapshot.
const LOG_PER_SNAPSHOT: u64 = 4;
/// Messages of the log that are read in one step.
const STEP_MESSAGES: usize = 4_096;
/// Bytes that are written before they are synced.
const STEP_BYTES: usize = 4 << 20;
/// What follows the pages: their length, and a checksum.
const END_BYTES: usize = 12;

/// A part of a page: its place in the order of the log, where that is, and how long it is there.
type Piece = (Lsn, DiskPtr, u64);

/// What has become of a page since a snapshot.
enum Change {
    /// It has been written anew.
    Anew(Vec<Piece>),
    /// Something has been added to what it was.
    Added(Vec<Piece>),
    Freed(Lsn, DiskPtr),
}

/// How far the snapshot on the disk reaches.
pub struct Checkpoints {
    directory: PathBuf,
    least: u64,
    /// Where the log ended when there was a new one, or none could be made.
    reached: Lsn,
    /// The size of the last one.
    bytes: u64,
}

impl Checkpoints {
    /// sled has been opened just now, and so has a snapshot. There is to be another when the log has grown by `least` bytes.
    pub fn new(directory: PathBuf, least: u64, sled: &SledTree) -> Self {
        let reached = sled.db.context.pagecache.log.stable_offset();
        Self {
            directory,
            least,
            reached,
            bytes: 0,
        }
    }

    /// Makes a new snapshot if the log has grown enough. No other thread may write to sled during it. `each_step` is called after each
    /// step, none of which takes long.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn bring_forward(
        &mut self,
        sled: &SledTree,
        each_step: impl Fn(),
    ) -> Result<(), EngineError> {
        let end = sled.db.context.pagecache.log.stable_offset();
        let grown = u64::try_from(end - self.reached).unwrap_or(0);
        if grown < self.least.max(self.bytes * LOG_PER_SNAPSHOT) {
            return Ok(());
        }
        self.reached = end;
        // The log is durable before the snapshot that points into it.
        sled.sync()?;
        let made = self.make(sled, end, &each_step);
        let made = made.map_err(|error| {
            EngineError::Failed(format!("the checkpoint of the store: {}", explain(&error)))
        })?;
        match made {
            Some(bytes) => self.bytes = bytes,
            None => tracing::warn!("the checkpoint of the store could not be brought forward"),
        }
        Ok(())
    }

    /// The size of the new one; `None` when the log or the one before are not as they should be.
    fn make(&self, sled: &SledTree, end: Lsn, each_step: &impl Fn()) -> io::Result<Option<u64>> {
        let Some(before) = Before::read(&self.directory)? else {
            return Ok(None);
        };
        each_step();
        let Some((changes, tip)) = changes(sled, before.end, end, each_step) else {
            return Ok(None);
        };
        let name = self.directory.join(format!("{SNAPSHOT}{:016X}", tip.end));
        let half = self
            .directory
            .join(format!("{SNAPSHOT}{:016X}{HALF}", tip.end));
        let mut after = After::begin(&half, each_step)?;
        after.put(&Some(tip.end))?;
        after.put(&Some(tip.segment))?;
        if !put_pages(&mut after, before.pages(), changes)? {
            fs::remove_file(half)?;
            return Ok(None);
        }
        let bytes = after.end()?;
        fs::rename(half, &name)?;
        File::open(&self.directory)?.sync_all()?;
        if let Some(path) = before.path.filter(|path| *path != name) {
            fs::remove_file(path)?;
        }
        each_step();
        Ok(Some(bytes))
    }
}

/// Where the log ends, and in which of its segments.
struct Tip {
    end: Lsn,
    segment: u64,
}

/// Reads the log from `from` on, up to and including the byte at `last`.
fn changes(
    sled: &SledTree,
    from: Lsn,
    last: Lsn,
    each_step: &impl Fn(),
) -> Option<(BTreeMap<PageId, Change>, Tip)> {
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
                entry.insert_entry(Change::Anew(vec![piece]));
            }
            (LogKind::Free, entry) => {
                entry.insert_entry(Change::Freed(at, place));
            }
            (LogKind::Link, Entry::Vacant(entry)) => {
                entry.insert(Change::Added(vec![piece]));
            }
            (LogKind::Link, Entry::Occupied(mut entry)) => match entry.get_mut() {
                Change::Anew(pieces) | Change::Added(pieces) => pieces.push(piece),
                // What is added to no page is left out, here as at a start.
                Change::Freed(..) => {}
            },
            (LogKind::Skip | LogKind::Corrupted, _) => return None,
        }
    }
    let (end, segment) = (log.cur_lsn?, log.segment_base.as_ref()?.offset);
    // Anything but the middle of a segment is told in another way, and is over soon.
    let within = usize::try_from(end).ok()? % SEGMENT_BYTES;
    let in_the_middle = within >= SEG_HEADER_LEN && within + MAX_MSG_HEADER_LEN < SEGMENT_BYTES;
    (end == last + 1 && in_the_middle).then_some((changes, Tip { end, segment }))
}

/// The snapshot that is there, if there is one.
struct Before {
    path: Option<PathBuf>,
    bytes: Vec<u8>,
    /// Where its pages begin.
    pages: usize,
    end: Lsn,
}

impl Before {
    /// `None` when it cannot be relied on.
    fn read(directory: &Path) -> io::Result<Option<Self>> {
        let mut newest = None;
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with(SNAPSHOT) && !name.ends_with(HALF) {
                newest = newest.max(Some(path));
            }
        }
        let Some(path) = newest else {
            return Ok(Some(Self {
                path: None,
                bytes: Vec::new(),
                pages: 0,
                end: 0,
            }));
        };
        let mut bytes = fs::read(&path)?;
        let Some(length) = bytes.len().checked_sub(END_BYTES) else {
            return Ok(None);
        };
        let end = bytes.split_off(length);
        if end != end_of(bytes.len() as u64, crc32fast::hash(&bytes)) {
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

/// The pages of a snapshot, each as its bytes: how many pieces it has, none for a free one, and where they are.
struct Pages<'a>(&'a [u8]);

impl<'a> Pages<'a> {
    /// The next one, if there is one; `Err` when it cannot be read.
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

/// Writes all pages as they are now; `false` when they do not fit together.
fn put_pages(
    after: &mut After<impl Fn()>,
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
            (_, Some(Change::Anew(pieces))) => {
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
            (Some(old), Some(Change::Added(pieces))) if old[0] > 0 => {
                let count = u8::try_from(pieces.len()).ok();
                let Some(count) = count.and_then(|count| count.checked_add(old[0])) else {
                    return Ok(false);
                };
                after.put(&count)?;
                after.write(&old[1..])?;
                pieces.iter().try_for_each(|piece| after.put(piece))?;
            }
            (Some(old), _) => after.write(old)?,
            // A page that was never written whole.
            (None, Some(Change::Added(_))) => return Ok(false),
        }
    }
    Ok(false)
}

/// A snapshot that is being written.
struct After<'a, F> {
    file: BufWriter<File>,
    checksum: crc32fast::Hasher,
    bytes: u64,
    unsynced: usize,
    each_step: &'a F,
}

impl<'a, F: Fn()> After<'a, F> {
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

    /// Returns its size once it is on the disk.
    fn end(mut self) -> io::Result<u64> {
        let end = end_of(self.bytes, self.checksum.finalize());
        self.file.write_all(&end)?;
        self.file.flush()?;
        self.file.get_ref().sync_all()?;
        Ok(self.bytes + END_BYTES as u64)
    }
}

fn end_of(bytes: u64, checksum: u32) -> Vec<u8> {
    [&bytes.to_le_bytes()[..], &checksum.to_le_bytes()].concat()
}
