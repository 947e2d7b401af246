//! Backups: all records as of one moment, the pictures that they name, and the keys of the data directory.
//!
//! A place for backups, a directory or a bucket, holds any number of them. Pictures never change once they are there, so the
//! backups share them: each new one copies only what has come since the one before.
//!
//! | Object | Holds |
//! |---|---|
//! | `backups/<id>/records.jsonl` | the records, as an export |
//! | `backups/<id>/pictures.jsonl` | a line for each object that the records name: its key, length and SHA-256, or why it was left out |
//! | `backups/<id>/keys/<name>` | the key files of the data directory |
//! | `backups/<id>/manifest.json` | what belongs to it, with checksums; written last, so what was cut off has none |
//! | `pictures/<key>` | the objects themselves: results, and the inputs and words that live jobs still need |
//!
//! Thumbnails are left out: they are made again when they are asked for.

mod copy;
mod create;
mod keys;
mod listing;
mod manifest;
mod repository;
mod restore;

pub use copy::{Copied, copy_objects};
pub use create::{Contents, create};
pub use keys::{KEY_FILES, SECRETS_KEY, restore_keys};
pub use manifest::Manifest;
pub use repository::Repository;
pub use restore::{Restored, restore};

use std::path::{Path, PathBuf};

/// Marks a data directory while it is restored. No command opens a marked one: a part of the records would pass for a small service.
const UNFINISHED: &str = "restore-unfinished";

/// The file that says that a data directory is not complete.
pub fn unfinished(data_dir: &Path) -> PathBuf {
    data_dir.join(UNFINISHED)
}
