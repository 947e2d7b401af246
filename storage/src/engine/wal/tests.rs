//! Written groups are read back, a torn end is not a fault, and damage of durable groups is a fault.

use super::segments::{self, list};
use super::{GroupNumber, Layout, Replay, ReplayError, Segments, Wal, frame, replay};
use crate::engine::{Key, Value};
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tempfile::TempDir;

type Group = Vec<(Key, Option<Value>)>;

/// Small files, so that a few groups fill several.
const LAYOUT: Layout = Layout {
    segment_bytes: 8_192 + 1_000,
    step_bytes: 256,
    kept: 2,
};

fn group(number: GroupNumber) -> Group {
    vec![
        (b"counter".to_vec(), Some(number.to_be_bytes().to_vec())),
        (format!("{number}").into_bytes(), Some(vec![7; 200])),
        (format!("{}", number.saturating_sub(3)).into_bytes(), None),
    ]
}

fn write(journal: &mut Wal, count: usize) -> Vec<(GroupNumber, Group)> {
    let mut written = Vec::new();
    for _ in 0..count {
        let number = journal.next_number();
        journal.gather(&group(number)[..1]);
        journal.gather(&group(number)[1..]);
        assert_eq!(journal.write().expect("write"), number);
        written.push((number, group(number)));
    }
    written
}

/// A directory with groups 1 to `count`.
fn written(count: usize) -> (TempDir, Vec<(GroupNumber, Group)>) {
    let directory = tempfile::tempdir().expect("directory");
    let segments = Segments::new(LAYOUT);
    let mut journal = Wal::begin(directory.path(), LAYOUT, 1, segments).expect("begin");
    let groups = write(&mut journal, count);
    (directory, groups)
}

fn read(
    directory: &Path,
    applied: GroupNumber,
) -> Result<(Vec<(GroupNumber, Group)>, GroupNumber), ReplayError> {
    let segments = Segments::new(LAYOUT);
    let mut found = Vec::new();
    let replayed = replay(directory, applied, &segments, |number, changes| {
        found.push((number, changes));
        Ok::<_, ReplayError>(())
    })?;
    Ok((found, replayed.next))
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let files = list(directory).expect("list");
    files.into_iter().map(|(_, path)| path).collect()
}

fn alter(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).expect("read");
    change(&mut bytes);
    fs::write(path, bytes).expect("write");
}

/// The offset of the n-th group of a file.
fn start_of(bytes: &[u8], index: usize) -> usize {
    let magic = bytes.windows(4).enumerate().filter(|it| it.1 == b"TTJ1");
    magic.map(|it| it.0).nth(index).expect("a group")
}

#[test]
fn groups_are_read_in_order_from_the_one_after_the_last_applied() {
    let (directory, groups) = written(20);
    assert!(files(directory.path()).len() > 4);
    for applied in [0, 1, 7, 19, 20] {
        let (found, next) = read(directory.path(), applied).expect("read");
        assert_eq!(found, groups[applied as usize..]);
        assert_eq!(next, 21);
    }
}

#[test]
fn a_new_directory_contains_no_group() {
    let directory = tempfile::tempdir().expect("directory");
    assert_eq!(read(directory.path(), 0).expect("read"), (vec![], 1));
    assert_eq!(read(directory.path(), 41).expect("read"), (vec![], 42));
}

#[test]
fn a_group_torn_anywhere_is_not_a_fault_and_its_number_is_reused() {
    let (directory, groups) = written(2);
    let file = files(directory.path()).pop().expect("a file");
    let whole = fs::read(&file).expect("read");
    let start = start_of(&whole, 1);
    let bytes = frame::FRAME_BYTES + 3 * 6 + 7 + 8 + 1 + 200 + 1;
    for written in 0..bytes {
        alter(&file, |it| {
            it[start..start + written].copy_from_slice(&whole[start..start + written]);
            it[start + written..start + bytes].fill(0);
        });
        let (found, next) = read(directory.path(), 0).expect("read");
        // The last bytes belong to a key and are never zero: only the whole group is valid.
        assert_eq!((found, next), (groups[..1].to_vec(), 2), "{written}");
    }
    fs::write(&file, &whole).expect("write");
    assert_eq!(read(directory.path(), 0).expect("read").1, 3);
}

#[test]
fn groups_after_a_torn_group_continue_in_the_next_file() {
    let (directory, mut groups) = written(3);
    let file = files(directory.path()).pop().expect("a file");
    alter(&file, |bytes| {
        let start = start_of(bytes, 2);
        bytes[start + 40] ^= 1;
    });
    let segments = Segments::new(LAYOUT);
    let replayed = replay(directory.path(), 0, &segments, |_, _| {
        Ok::<_, ReplayError>(())
    });
    let Replay { next, stale } = replayed.expect("read");
    assert_eq!((next, stale), (3, vec![]));
    let mut journal = Wal::begin(directory.path(), LAYOUT, next, segments).expect("begin");
    groups.truncate(2);
    groups.extend(write(&mut journal, 5));
    assert_eq!(read(directory.path(), 0).expect("read"), (groups, 8));
}

#[test]
fn damage_of_a_durable_group_is_reported_and_of_an_applied_one_ignored() {
    let (directory, groups) = written(12);
    let second = files(directory.path())[1].clone();
    let first = list(directory.path()).expect("list")[1].0;
    alter(&second, |bytes| {
        let start = start_of(bytes, 1);
        bytes[start + 50] ^= 4;
    });
    for applied in 0..=first {
        let fault = read(directory.path(), applied).expect_err("damage");
        let text = fault.to_string();
        assert!(
            text.contains(&format!("from change {} on", first + 1)),
            "{text}"
        );
    }
    for applied in first + 1..=12 {
        let (found, next) = read(directory.path(), applied).expect("read");
        assert_eq!((&*found, next), (&groups[applied as usize..], 13));
    }
}

#[test]
fn one_of_the_two_headers_of_a_file_may_be_damaged() {
    let (directory, groups) = written(12);
    let second = files(directory.path())[1].clone();
    alter(&second, |bytes| bytes[..4_000].fill(0x55));
    assert_eq!(read(directory.path(), 0).expect("read").0, groups);
    alter(&second, |bytes| bytes[4_000..5_000].fill(0x55));
    assert!(matches!(
        read(directory.path(), 0),
        Err(ReplayError::Damaged { .. })
    ));
    assert_eq!(read(directory.path(), 11).expect("read").0, groups[11..]);
}

/// A file gets its name after its header is durable, so no crash leaves an unreadable header.
#[test]
fn a_last_file_with_an_unreadable_header_is_damage() {
    let (directory, _) = written(12);
    let last = files(directory.path()).pop().expect("a file");
    let whole = fs::read(&last).expect("read");
    let damages: [fn(&mut Vec<u8>); 4] = [
        |bytes| bytes.clear(),
        |bytes| bytes.truncate(20),
        |bytes| bytes[..8_192].fill(0),
        |bytes| bytes.fill(0),
    ];
    for damage in damages {
        alter(&last, damage);
        for applied in [0, 11] {
            let fault = read(directory.path(), applied).expect_err("a fault");
            assert!(
                matches!(&fault, ReplayError::Header(path) if *path == last),
                "{fault}"
            );
        }
        assert!(last.exists());
        fs::write(&last, &whole).expect("write");
    }
    assert_eq!(read(directory.path(), 0).expect("read").1, 13);
}

#[test]
fn an_unfinished_file_left_by_a_crash_is_created_anew() {
    let (directory, mut groups) = written(3);
    for content in [
        vec![],
        vec![0x55; 20_000],
        fs::read(&files(directory.path())[0]).expect("read"),
    ] {
        fs::write(directory.path().join("next"), content).expect("write");
        let (found, mut journal, _) = open(directory.path(), 0);
        assert_eq!(found, groups);
        groups.extend(write(&mut journal, 7));
        assert_eq!(read(directory.path(), 0).expect("read").0, groups);
    }
}

#[test]
fn a_file_that_is_missing_is_a_fault_if_its_groups_are_needed() {
    let (directory, groups) = written(20);
    let all = list(directory.path()).expect("list");
    let (third, after) = (all[2].0, all[3].0);
    fs::remove_file(&all[2].1).expect("remove");
    let fault = read(directory.path(), third - 1).expect_err("a fault");
    assert!(matches!(fault, ReplayError::Damaged { missing, .. } if missing == third));
    let (found, _) = read(directory.path(), after - 1).expect("read");
    assert_eq!(found, groups[after as usize - 1..]);
}

#[test]
fn a_store_that_ends_before_the_start_of_the_wal_is_a_fault() {
    let (directory, _) = written(20);
    let all = list(directory.path()).expect("list");
    fs::remove_file(&all[0].1).expect("remove");
    let oldest = all[1].0;
    let fault = read(directory.path(), oldest - 2).expect_err("a gap");
    assert_eq!(
        fault.to_string(),
        format!(
            "the store ends with change {}, but the journal begins only with change {oldest}",
            oldest - 2
        )
    );
    assert!(read(directory.path(), oldest - 1).is_ok());
}

#[test]
fn a_wal_behind_the_store_starts_anew() {
    let (directory, _) = written(20);
    let old = files(directory.path());
    let segments = Segments::new(LAYOUT);
    let replayed = replay(directory.path(), 30, &segments, |_, _| {
        Ok::<_, ReplayError>(())
    });
    let Replay { next, stale } = replayed.expect("read");
    assert_eq!((next, &stale), (31, &old));
    let mut journal = Wal::begin(directory.path(), LAYOUT, 31, segments).expect("begin");
    let groups = write(&mut journal, 3);
    // The deletion of the old files may stop at any of them.
    for path in stale {
        assert_eq!(
            read(directory.path(), 30).expect("read"),
            (groups.clone(), 34)
        );
        fs::remove_file(path).expect("remove");
    }
    assert_eq!(read(directory.path(), 30).expect("read"), (groups, 34));
}

#[test]
fn unneeded_files_are_deleted() {
    let directory = tempfile::tempdir().expect("directory");
    let segments = Segments::new(LAYOUT);
    let mut journal = Wal::begin(directory.path(), LAYOUT, 1, segments.clone()).expect("begin");
    let mut last = 0;
    for round in 1..=30 {
        last = write(&mut journal, 5).pop().expect("a group").0;
        segments.release(last - 1).expect("release");
        let names = files(directory.path()).len();
        // The current file and the two kept ones.
        assert!(names <= 3, "{names} files after {round} rounds");
        let oldest = list(directory.path()).expect("list")[0].0;
        let (found, next) = read_unchanged(directory.path(), last - 2);
        assert_eq!(found.len(), 2, "from {oldest}");
        assert_eq!(next, last + 1);
    }
    assert_eq!(last, 150);
    assert_eq!(
        fs::read_dir(directory.path()).expect("list").count(),
        3,
        "nothing else is left"
    );
}

/// Like [`read`], for directories without stale files.
fn read_unchanged(
    directory: &Path,
    applied: GroupNumber,
) -> (Vec<(GroupNumber, Group)>, GroupNumber) {
    let before = files(directory);
    let outcome = read(directory, applied).expect("read");
    assert_eq!(files(directory), before);
    outcome
}

#[test]
fn a_group_inside_a_value_is_not_mistaken_for_a_group() {
    let directory = tempfile::tempdir().expect("directory");
    let segments = Segments::new(LAYOUT);
    let mut journal = Wal::begin(directory.path(), LAYOUT, 1, segments).expect("begin");
    let mut forged = Vec::new();
    frame::begin(&mut forged);
    frame::push(&mut forged, b"k", Some(b"forged"));
    frame::seal(&mut forged, 9, 0);
    journal.gather(&[(b"a".to_vec(), Some(forged))]);
    journal.write().expect("write");
    let file = files(directory.path()).pop().expect("a file");
    alter(&file, |bytes| {
        let start = start_of(bytes, 0);
        bytes[start] ^= 1;
    });
    // The outer group is torn, so nothing of it counts, though the group inside looks whole.
    assert_eq!(read(directory.path(), 0).expect("read"), (vec![], 1));
}

#[test]
fn a_group_larger_than_a_file_gets_its_own_file() {
    let directory = tempfile::tempdir().expect("directory");
    let segments = Segments::new(LAYOUT);
    let mut journal = Wal::begin(directory.path(), LAYOUT, 1, segments).expect("begin");
    let mut expected = write(&mut journal, 1);
    let large = vec![(b"large".to_vec(), Some(vec![1; 9_000]))];
    journal.gather(&large);
    expected.push((journal.write().expect("write"), large));
    expected.extend(write(&mut journal, 1));
    assert_eq!(read(directory.path(), 0).expect("read"), (expected, 4));
    assert_eq!(files(directory.path()).len(), 3);
}

#[test]
fn a_file_that_cannot_be_written_is_an_error() {
    let directory = tempfile::tempdir().expect("directory");
    let path = segments::path(directory.path(), 1);
    fs::create_dir(&path).expect("directory");
    let segments = Segments::new(LAYOUT);
    assert!(Wal::begin(directory.path(), LAYOUT, 1, segments).is_err());
    assert!(OpenOptions::new().write(true).open(&path).is_err());
}

/// The flusher releases files at any time, even while the writer starts one.
#[test]
fn files_are_released_while_others_are_started() {
    let directory = tempfile::tempdir().expect("directory");
    // Every group starts a file.
    let layout = Layout {
        segment_bytes: 1,
        kept: 1,
        ..LAYOUT
    };
    let segments = Segments::new(layout);
    let mut journal = Wal::begin(directory.path(), layout, 1, segments.clone()).expect("begin");
    let (written, over) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                segments
                    .release(written.load(Ordering::Relaxed))
                    .expect("release");
            }
        });
        for _ in 0..1_500 {
            journal.gather(&group(1));
            match journal.write() {
                Ok(number) => written.store(number, Ordering::Relaxed),
                Err(error) => {
                    over.store(true, Ordering::Relaxed);
                    panic!("{error}");
                }
            }
        }
        over.store(true, Ordering::Relaxed);
    });
}

/// Opens as the service does: replays, starts writing, and returns the found groups, the journal and its files.
fn open(directory: &Path, applied: GroupNumber) -> (Vec<(GroupNumber, Group)>, Wal, Segments) {
    let segments = Segments::new(LAYOUT);
    let mut found = Vec::new();
    let replayed = replay(directory, applied, &segments, |number, changes| {
        found.push((number, changes));
        Ok::<_, ReplayError>(())
    });
    let Replay { next, stale } = replayed.expect("replay");
    assert_eq!(stale, Vec::<PathBuf>::new());
    let journal = Wal::begin(directory, LAYOUT, next, segments.clone()).expect("begin");
    (found, journal, segments)
}

/// Fills several files, releases applied ones at each step, and finds all others again.
fn write_several_files(directory: &Path, mut journal: Wal, segments: &Segments) {
    // The store lags behind the journal by more than a file.
    const LAG: usize = 12;
    let mut written = Vec::new();
    for _ in 0..60 {
        written.extend(write(&mut journal, 1));
        let applied = written.len().saturating_sub(LAG);
        let last = match applied {
            0 => written[0].0 - 1,
            applied => written[applied - 1].0,
        };
        segments.release(last).expect("release");
        let files_before = files(directory);
        let (found, next) = read(directory, last).expect("every needed group");
        assert_eq!(found, written[applied..]);
        assert_eq!(next, written[written.len() - 1].0 + 1);
        assert_eq!(files(directory), files_before);
    }
}

#[test]
fn a_file_without_a_group_is_reused_and_never_counted_as_full() {
    let (directory, groups) = written(3);
    for _ in 0..3 {
        let (found, journal, _) = open(directory.path(), 0);
        assert_eq!(found, groups);
        drop(journal);
    }
    let (_, journal, segments) = open(directory.path(), 3);
    write_several_files(directory.path(), journal, &segments);
}

#[test]
fn a_file_whose_first_group_is_torn_is_reused_and_never_counted_as_full() {
    let (directory, groups) = written(3);
    let (_, mut journal, _) = open(directory.path(), 3);
    write(&mut journal, 1);
    drop(journal);
    let last = files(directory.path()).pop().expect("a file");
    alter(&last, |bytes| {
        let start = start_of(bytes, 0);
        bytes[start + 60] ^= 1;
    });
    let (found, journal, segments) = open(directory.path(), 0);
    assert_eq!(found, groups);
    write_several_files(directory.path(), journal, &segments);
}

/// Each run commits a little and dies: the store may have lost more than two runs.
#[test]
fn short_files_are_retained_until_they_amount_to_a_full_file() {
    let directory = tempfile::tempdir().expect("directory");
    let layout = Layout {
        segment_bytes: 40 * 1_024,
        ..LAYOUT
    };
    let bytes = |path: &PathBuf| fs::metadata(path).expect("a file").len();
    for life in 0..30 {
        let segments = Segments::new(layout);
        let replayed = replay(directory.path(), life, &segments, |_, _| {
            Ok::<_, ReplayError>(())
        });
        let next = replayed.expect("replay").next;
        assert_eq!(next, life + 1);
        let mut journal =
            Wal::begin(directory.path(), layout, next, segments.clone()).expect("begin");
        segments.release(life).expect("release");
        write(&mut journal, 1);
        let mut full = files(directory.path());
        full.pop();
        let kept: u64 = full.iter().map(bytes).sum();
        assert!(kept < 2 * layout.segment_bytes, "{kept} bytes are kept");
        if life > 10 {
            assert!(kept >= layout.segment_bytes, "{kept} bytes are kept");
        }
    }
}

/// Leftovers of an earlier use contain callers' texts. Many of them may look like frames of megabyte-sized groups; their
/// checksums must not be computed.
#[test]
fn no_text_is_mistaken_for_a_group_header() {
    let begins = |bytes: &[u8]| frame::FrameHeader::read(bytes, &(1..=u64::MAX)).is_some();
    let mut group = Vec::new();
    frame::begin(&mut group);
    frame::push(&mut group, b"k", Some(b"v"));
    frame::seal(&mut group, 3, 7);
    assert!(begins(&group));
    // A text ends with at most one zero byte, and few zeros follow it in a record.
    let text = b"TTJ1   \0a prompt that goes on for a while\0\0".repeat(100);
    for at in 0..text.len() {
        assert!(!begins(&text[at..]));
    }
}
