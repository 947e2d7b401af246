//! Recovery of a damaged journal. An input overwrites parts of a valid journal: file, offset (2 bytes), length, bytes, and so
//! on. Whatever it overwrites, replay returns a prefix of the written groups in order: the journal may be shorter or be
//! reported as damaged, but replay never returns other data.

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;
use tintype_storage::engine::wal::{GroupNumber, Layout, ReplayError, Segments, Wal, replay};
use tintype_storage::engine::{Key, Value};

type Group = Vec<(Key, Option<Value>)>;

/// Small files, so that a few groups fill several.
const LAYOUT: Layout = Layout {
    segment_bytes: 8_192 + 500,
    step_bytes: 256,
    kept: 2,
};
const GROUPS: GroupNumber = 9;

/// The files of the journal, by name.
static WRITTEN: LazyLock<Vec<(String, Vec<u8>)>> = LazyLock::new(|| {
    let directory = tempfile::tempdir().unwrap();
    let segments = Segments::new(LAYOUT);
    let mut journal = Wal::begin(directory.path(), LAYOUT, 1, segments).unwrap();
    for number in 1..=GROUPS {
        journal.gather(&group(number));
        assert_eq!(journal.write().unwrap(), number);
    }
    let entries = fs::read_dir(directory.path()).unwrap().map(Result::unwrap);
    let mut files: Vec<_> = entries
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read(entry.path()).unwrap())
        })
        .collect();
    files.sort();
    assert!(files.len() > 2, "too few files");
    files
});

fn group(number: GroupNumber) -> Group {
    vec![
        (b"counter".to_vec(), Some(number.to_be_bytes().to_vec())),
        (format!("{number}").into_bytes(), Some(vec![7; 100])),
        (format!("{}", number.saturating_sub(3)).into_bytes(), None),
    ]
}

pub fn run(input: &[u8]) {
    let directory = tempfile::tempdir().unwrap();
    let mut files = WRITTEN.clone();
    overwrite(&mut files, input);
    for (name, bytes) in &files {
        fs::write(directory.path().join(name), bytes).unwrap();
    }
    let mut read: Vec<(GroupNumber, Group)> = Vec::new();
    let outcome = replay(
        directory.path(),
        0,
        &Segments::new(LAYOUT),
        |number, changes| {
            read.push((number, changes));
            Ok::<_, ReplayError>(())
        },
    );
    for (expected, (number, changes)) in (1..).zip(&read) {
        assert_eq!(*number, expected);
        assert_eq!(*changes, group(expected));
    }
    match outcome {
        Ok(replayed) => {
            assert_eq!(replayed.next, read.len() as GroupNumber + 1);
            assert!(files != *WRITTEN || read.len() as GroupNumber == GROUPS);
        }
        Err(ReplayError::Damaged { path, missing }) => {
            assert!((1..=GROUPS).contains(&missing), "{missing}");
            assert!(path.starts_with(PathBuf::from(directory.path())));
        }
        Err(ReplayError::Header(path)) => {
            assert!(path.starts_with(PathBuf::from(directory.path())))
        }
        Err(ReplayError::Gap { oldest, .. }) => assert!(oldest > 1),
        Err(ReplayError::Io(error)) => panic!("{error}"),
    }
}

fn overwrite(files: &mut [(String, Vec<u8>)], mut input: &[u8]) {
    while let [file, low, high, length, rest @ ..] = input {
        let (bytes, rest) = rest.split_at(rest.len().min((*length).into()));
        let at = usize::from(u16::from_le_bytes([*low, *high]));
        let count = files.len();
        let place = &mut files[usize::from(*file) % count].1;
        if bytes.is_empty() {
            place.truncate(at);
        }
        for (old, new) in place.iter_mut().skip(at).zip(bytes) {
            *old = *new;
        }
        input = rest;
    }
}
