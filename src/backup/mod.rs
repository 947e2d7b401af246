//! Backups: a point-in-time export of all records, the objects that the records reference, and the key files of the data directory.
//!
//! A repository is a directory or a bucket with any number of backups. Objects never change, so backups share them: each backup
//! copies only the objects that are new since the one before.
//!
//! | Object | Holds |
//! |---|---|
//! | `backups/<id>/records.jsonl` | the records, as an export |
//! | `backups/<id>/pictures.jsonl` | a line for each referenced object: its key, length and SHA-256, or why it was left out |
//! | `backups/<id>/keys/<name>` | the key files of the data directory |
//! | `backups/<id>/manifest.json` | the list of these files, with checksums; written last, so an interrupted backup has none |
//! | `pictures/<key>` | the objects: results, and the inputs and request texts that live jobs still need |
//!
//! Backups omit thumbnails, because the service creates them on demand.

mod affected_backups;
mod copy;
mod create;
mod held_copies;
mod keys;
mod manifest;
mod object_list;
mod prune;
mod repository;
mod restore;

pub use affected_backups::affected_backups;
pub use copy::{CopyTotals, copy_objects};
pub use create::{Contents, UnreadableCopies, create};
pub use keys::restore_keys;
pub use manifest::{ADMIN_TOKEN, FILE_SIGNING_KEY, KEY_FILES, Manifest, SECRETS_KEY};
pub use prune::prune;
pub use repository::{Repository, rewind};
pub use restore::{DamagedParts, RestoreOutcome, RestoreTarget, restore};

use std::path::{Path, PathBuf};

/// Marks a data directory during a restore. No command opens a marked one: a part of the records would look like a small service.
const UNFINISHED: &str = "restore-unfinished";

/// The path of the file that marks a data directory as incomplete.
pub fn unfinished_marker(data_dir: &Path) -> PathBuf {
    data_dir.join(UNFINISHED)
}
