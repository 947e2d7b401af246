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

mod keys;
mod listing;
mod manifest;
mod repository;
mod take;
mod unpack;

pub use keys::{KEY_FILES, SECRETS_KEY, restore_keys};
pub use manifest::Manifest;
pub use repository::Depot;
pub use take::{Order, take};
pub use unpack::{Unpacked, unpack};

use std::path::{Path, PathBuf};

/// Stands in a data directory while it is being filled. Nothing is opened there: half of the records, or none, would pass for
/// a small or a new service.
const UNFINISHED: &str = "restore-unfinished";

/// The file that says that a data directory is not complete.
pub fn unfinished(data_dir: &Path) -> PathBuf {
    data_dir.join(UNFINISHED)
}
