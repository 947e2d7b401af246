//! Prepares a directory before sled opens it: deletes half-written files, and checks that the disk can read sled's log.
//!
//! sled treats an unreadable part of its log as an unfinished write, drops it and overwrites it with zeros, so one failed read
//! would cost the store. So the segments that sled will read are read first: a failing disk is an error here, and the data is
//! cached when sled reads it.

use super::{CHECKPOINT_PREFIX, LOG, checkpoint_names};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// sled's default segment size.
pub const SEGMENT_BYTES: usize = 512 * 1024;
/// A segment starts with the CRC-32 of the rest of its header, then its position in the whole log. Both are inverted, the
/// position except for its sign.
const HEAD_BYTES: usize = 20;

/// Prepares a directory for sled. `false` if another process has it locked; then nothing was done.
pub fn prepare(directory: &Path) -> io::Result<bool> {
    let log = directory.join(LOG);
    let open = |create| {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(create);
        options.open(&log)
    };
    let log = match open(false) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if checkpoint_names(directory)?.1.is_empty() {
                // The very first start.
                return Ok(true);
            }
            // Or the second one. Obstacles are deleted under the lock.
            open(true)?
        }
        other => other?,
    };
    // The same lock that sled takes. Dropping the file releases it.
    match log.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(false),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    let (finished, unfinished) = checkpoint_names(directory)?;
    // A crash while sled writes a checkpoint leaves a file that keeps sled from opening. A finished checkpoint is renamed.
    for name in unfinished {
        fs::remove_file(directory.join(name))?;
    }
    let mut segment = vec![0; SEGMENT_BYTES];
    for at in uncheckpointed_segments(&log, checkpoint_position(&finished))? {
        read(&log, &mut segment, at)?;
    }
    Ok(true)
}

/// The log position of the last checkpoint. Names sort by position, and sled takes the last one too.
fn checkpoint_position(names: &[String]) -> i64 {
    let last = names.iter().max();
    let position = last.and_then(|name| name.strip_prefix(CHECKPOINT_PREFIX));
    let position = position.and_then(|it| i64::from_str_radix(it, 16).ok());
    position.unwrap_or(0)
}

/// The offsets of the segments that sled reads whole: those that may contain log past the checkpoint. Reads the headers of all
/// segments.
fn uncheckpointed_segments(log: &File, position: i64) -> io::Result<Vec<u64>> {
    let segment = SEGMENT_BYTES as i64;
    let first = position / segment * segment;
    let mut found = Vec::new();
    let mut head = [0; HEAD_BYTES];
    for at in (0..log.metadata()?.len()).step_by(SEGMENT_BYTES) {
        let whole = read(log, &mut head, at)? == HEAD_BYTES;
        if whole && position_of(&head).is_some_and(|it| it >= first) {
            found.push(at);
        }
    }
    Ok(found)
}

/// The position in a segment's header, if the header is valid.
fn position_of(head: &[u8; HEAD_BYTES]) -> Option<i64> {
    let checksum = !u32::from_le_bytes(head[..4].try_into().ok()?);
    let position = i64::from_le_bytes(head[4..12].try_into().ok()?) ^ i64::MAX;
    (checksum == crc32fast::hash(&head[4..])).then_some(position)
}

/// Reads until the buffer is full or the file ends.
fn read(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    let mut done = 0;
    while done < buffer.len() {
        match file.read_at(&mut buffer[done..], at + done as u64) {
            Ok(0) => break,
            Ok(more) => done += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    /// sled as the engine opens it. A dropped store keeps its lock until its threads have ended.
    fn sled(directory: &Path) -> ::sled::Db {
        let config = ::sled::Config::new().path(directory).flush_every_ms(None);
        let config = config.mode(::sled::Mode::HighThroughput);
        until(|| config.open().ok())
    }

    /// Repeats `find` until it returns a value.
    fn until<T>(mut find: impl FnMut() -> Option<T>) -> T {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            if let Some(found) = find() {
                return found;
            }
            assert!(Instant::now() < deadline, "the lock is never released");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn fill(db: &::sled::Db, keys: std::ops::Range<u32>) {
        for key in keys {
            db.insert(key.to_be_bytes(), vec![7; 8 * 1024]).unwrap();
        }
        db.flush().unwrap();
    }

    /// The segments that would be read, and all that there are.
    fn segments(directory: &Path) -> (Vec<u64>, u64) {
        let log = File::open(directory.join(LOG)).unwrap();
        let all = log.metadata().unwrap().len().div_ceil(SEGMENT_BYTES as u64);
        let (finished, _) = checkpoint_names(directory).unwrap();
        let position = checkpoint_position(&finished);
        (uncheckpointed_segments(&log, position).unwrap(), all)
    }

    #[test]
    fn only_the_log_since_the_last_start_is_read() {
        let directory = tempfile::tempdir().unwrap();
        assert!(prepare(directory.path()).unwrap(), "a first start");
        let db = sled(directory.path());
        fill(&db, 0..400);
        assert!(
            !prepare(directory.path()).unwrap(),
            "another process has locked it"
        );
        drop(db);
        let (read, all) = segments(directory.path());
        assert!(all > 6, "{all}");
        assert_eq!(read.len() as u64, all, "there was no checkpoint");
        // This start makes one.
        let db = sled(directory.path());
        let (read, _) = segments(directory.path());
        assert!(read.len() < 2, "only the end of the log: {read:?}");
        fill(&db, 400..700);
        let (read, now) = segments(directory.path());
        // The end of the checkpoint, and the log since: 300 values fill four segments, new or freed ones.
        assert!(read.len() >= 4, "{read:?}");
        assert!(read.len() as u64 >= now - all, "{read:?} of {now}");
        assert!((read.len() as u64) < now, "{read:?}");
        drop(db);
        until(|| prepare(directory.path()).unwrap().then_some(()));
    }

    #[test]
    fn garbage_is_not_a_valid_header() {
        assert_eq!(position_of(&[0; HEAD_BYTES]), None);
        assert_eq!(position_of(&[255; HEAD_BYTES]), None);
    }
}
