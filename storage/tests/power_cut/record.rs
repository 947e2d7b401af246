//! Reads the recorder's log.

use std::fs;
use std::path::{Path, PathBuf};

/// An operation on a file, or a printed line.
#[derive(Debug)]
pub enum Entry {
    Write {
        file: PathBuf,
        at: u64,
        data: Vec<u8>,
    },
    Length {
        file: PathBuf,
        length: u64,
    },
    /// The first `covered` entries about `path` are on the disk.
    Sync {
        path: PathBuf,
        covered: usize,
    },
    Create(PathBuf),
    Rename {
        from: PathBuf,
        to: PathBuf,
    },
    Remove(PathBuf),
    Directory(PathBuf),
    Said(String),
}

/// All entries in order.
pub struct Record {
    entries: Vec<Entry>,
}

impl Record {
    pub fn read(file: &Path) -> Self {
        let bytes = fs::read(file).expect("a record");
        let mut rest = bytes.as_slice();
        let mut entries = Vec::new();
        while !rest.is_empty() {
            let kind = u32::from_ne_bytes(take(&mut rest, 4).try_into().expect("4 bytes"));
            let argument = u64::from_ne_bytes(take(&mut rest, 8).try_into().expect("8 bytes"));
            let mut length =
                || u32::from_ne_bytes(take(&mut rest, 4).try_into().expect("4 bytes")) as usize;
            let (path_length, data_length) = (length(), length());
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
            let path = PathBuf::from(text(take(&mut rest, path_length)));
            let data = take(&mut rest, data_length);
            entries.push(match kind {
                1 => Entry::Write {
                    file: path,
                    at: argument,
                    data: data.to_vec(),
                },
                2 => Entry::Length {
                    file: path,
                    length: argument,
                },
                3 => Entry::Sync {
                    path,
                    covered: argument as usize,
                },
                4 => Entry::Create(path),
                5 => Entry::Rename {
                    from: path,
                    to: text(data).into(),
                },
                6 => Entry::Remove(path),
                7 => Entry::Directory(path),
                8 => Entry::Said(text(data)),
                other => panic!("an entry of kind {other}"),
            });
        }
        Self { entries }
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn before(&self, moment: usize) -> &[Entry] {
        &self.entries[..moment]
    }

    /// The last commit answered before an entry.
    pub fn said_before(&self, moment: usize) -> Option<u64> {
        self.last(moment, "answered ")
    }

    /// The last commit started before an entry.
    pub fn begun_before(&self, moment: usize) -> Option<u64> {
        self.last(moment, "begun ")
    }

    fn last(&self, moment: usize, word: &str) -> Option<u64> {
        let said = self.before(moment).iter().rev();
        said.filter_map(|entry| match entry {
            Entry::Said(text) => text.strip_prefix(word)?.trim().parse().ok(),
            _ => None,
        })
        .next()
    }
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> &'a [u8] {
    let (taken, left) = rest.split_at(count);
    *rest = left;
    taken
}
