//! The possible contents of a disk after a power cut.
//!
//! For a file: everything that a finished sync covers, and any subset of the sectors of later writes. For names: what a sync of
//! their directory covers, and the first few later changes, as on a journaling file system.

use crate::record::{Entry, Record};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const SECTOR: u64 = 512;

/// Random numbers from a seed (splitmix64), so that failures can be reproduced.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 31)) % bound
    }
}

/// A change of a file's content, with the number of its entry.
enum Change<'a> {
    Write(u64, &'a [u8]),
    Length(u64),
}

/// A file, independent of its name: names change.
#[derive(Default)]
struct File<'a> {
    changes: Vec<(usize, Change<'a>)>,
    /// Changes before this entry are on the disk.
    synced: usize,
}

/// Files by name.
pub struct Disk {
    files: BTreeMap<PathBuf, Vec<u8>>,
    directories: Vec<PathBuf>,
}

impl Disk {
    /// The disk at a point of the record: with `chance` as a power cut would leave it, otherwise as programs see it.
    pub fn at(record: &Record, moment: usize, mut chance: Option<&mut Random>) -> Self {
        let entries = record.before(moment);
        let kept_names = kept_names(entries, chance.as_deref_mut());
        let mut seen: BTreeMap<PathBuf, usize> = BTreeMap::new();
        let (mut lasting, mut directories) = (BTreeMap::new(), Vec::new());
        let mut files: Vec<File<'_>> = Vec::new();
        for (number, entry) in entries.iter().enumerate() {
            match entry {
                Entry::Write { file, at, data } => {
                    let change = Change::Write(*at, data);
                    files[seen[file]].changes.push((number, change));
                }
                Entry::Length { file, length } => {
                    let change = Change::Length(*length);
                    files[seen[file]].changes.push((number, change));
                }
                Entry::Sync { path, covered } => {
                    if let Some(file) = seen.get(path) {
                        let file: &mut File<'_> = &mut files[*file];
                        file.synced = file.synced.max(*covered);
                    }
                }
                Entry::Create(path) => {
                    files.push(File::default());
                    seen.insert(path.clone(), files.len() - 1);
                    if number < kept_names {
                        lasting.insert(path.clone(), files.len() - 1);
                    }
                }
                Entry::Rename { from, to } => {
                    rename(&mut seen, from, to);
                    if number < kept_names {
                        rename(&mut lasting, from, to);
                    }
                }
                Entry::Remove(path) => {
                    seen.remove(path);
                    if number < kept_names {
                        lasting.remove(path);
                    }
                }
                Entry::Directory(path) if number < kept_names => directories.push(path.clone()),
                Entry::Directory(_) | Entry::Said(_) => {}
            }
        }
        // A disk keeps nearly all, about half, or almost none of the unsynced data.
        let share = chance
            .as_deref_mut()
            .map_or(100, |it| [0, 10, 50, 90, 100][it.below(5) as usize]);
        let content = |(path, file): (PathBuf, usize)| {
            (path, files[file].content(share, chance.as_deref_mut()))
        };
        Self {
            files: lasting.into_iter().map(content).collect(),
            directories,
        }
    }

    pub fn files(&self) -> &BTreeMap<PathBuf, Vec<u8>> {
        &self.files
    }

    /// Writes the files from below `from` to below `to`.
    pub fn write(&self, from: &Path, to: &Path) {
        let place = |path: &Path| to.join(path.strip_prefix(from).expect("below the directory"));
        for path in &self.directories {
            fs::create_dir_all(place(path)).expect("directory");
        }
        for (path, content) in &self.files {
            fs::write(place(path), content).expect("write");
        }
    }
}

/// Changes of names before this entry are on the disk.
fn kept_names(entries: &[Entry], chance: Option<&mut Random>) -> usize {
    let Some(chance) = chance else {
        return entries.len();
    };
    // On a journaling file system, the sync of one directory covers earlier changes of all directories.
    let files: BTreeSet<&Path> = entries
        .iter()
        .filter_map(|entry| match entry {
            Entry::Create(path) => Some(path.as_path()),
            Entry::Rename { to, .. } => Some(to.as_path()),
            _ => None,
        })
        .collect();
    let is_directory = |path: &Path| !files.contains(path);
    let synced = entries.iter().filter_map(|entry| match entry {
        Entry::Sync { path, covered } if is_directory(path) => Some(*covered),
        _ => None,
    });
    let least = synced.max().unwrap_or(0);
    least + chance.below((entries.len() - least) as u64 + 1) as usize
}

fn rename(names: &mut BTreeMap<PathBuf, usize>, from: &Path, to: &Path) {
    if let Some(file) = names.remove(from) {
        names.insert(to.to_owned(), file);
    }
}

impl File<'_> {
    /// Sectors of unsynced writes stay with a probability of `share` percent.
    fn content(&self, share: u64, mut chance: Option<&mut Random>) -> Vec<u8> {
        let mut content = Vec::new();
        for (number, change) in &self.changes {
            let is_synced = *number < self.synced;
            let mut stays =
                || is_synced || chance.as_deref_mut().is_none_or(|it| it.below(100) < share);
            match change {
                Change::Write(at, data) => {
                    for (at, sector) in sectors(*at, data) {
                        if stays() {
                            let end = at + sector.len();
                            content.resize(content.len().max(end), 0);
                            content[at..end].copy_from_slice(sector);
                        }
                    }
                }
                Change::Length(length) => {
                    if stays() {
                        content.resize(*length as usize, 0);
                    }
                }
            }
        }
        content
    }
}

/// Splits a write at the disk's sector boundaries.
fn sectors(at: u64, data: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut next = 0;
    std::iter::from_fn(move || {
        let begin = next;
        let place = at + begin as u64;
        let end = (begin + (SECTOR - place % SECTOR) as usize).min(data.len());
        next = end;
        (begin < end).then(|| (place as usize, &data[begin..end]))
    })
}
