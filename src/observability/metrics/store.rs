//! The job store: commits, disk syncs and size.

use super::exposition::Exposition;
use crate::data_dir::free_bytes;
use std::fs;
use std::path::Path;
use tintype_storage::engine::{EngineStats, Wait as _};
use tintype_storage::store::tables::LAST_BACKUP_OR_EXPORT;
use tintype_storage::store::{Store, StoreError};

/// Depth of the size scan; the store itself has two levels.
const DEPTH: usize = 4;

/// Blocking: it reads the file sizes.
pub fn collect(out: &mut Exposition, store: &Store, data_dir: &Path, store_dir: &Path) {
    let EngineStats {
        commits,
        syncs,
        sync_times,
        commits_per_sync,
        bytes,
        backlog_bytes,
    } = store.engine().stats();
    out.counter("tintype_store_commits_total", "Durable commits.")
        .value(&[], commits);
    out.counter(
        "tintype_store_syncs_total",
        "Disk syncs; several commits share one.",
    )
    .value(&[], syncs);
    out.histogram(
        "tintype_store_sync_duration_seconds",
        "Duration of disk syncs (fdatasync).",
    )
    .seconds(&[], &sync_times);
    out.histogram(
        "tintype_store_commits_per_sync",
        "Commits that shared one sync.",
    )
    .numbers(&[], &commits_per_sync);
    out.counter(
        "tintype_store_written_bytes_total",
        "Bytes of keys and values in durable commits.",
    )
    .value(&[], bytes);
    out.gauge(
        "tintype_store_backlog_bytes",
        "Bytes in the WAL that are not yet in the tree.",
    )
    .value(&[], backlog_bytes);
    out.gauge(
        "tintype_store_disk_bytes",
        "Size of the store's files on disk, without images.",
    )
    .value(&[], size(store_dir, DEPTH));
    if let Ok(free) = free_bytes(data_dir) {
        out.gauge(
            "tintype_disk_free_bytes",
            "Free space on the file system of the data directory.",
        )
        .value(&[], free);
    }
}

/// Blocking: it reads a record.
pub fn collect_last_backup(out: &mut Exposition, store: &Store) -> Result<(), StoreError> {
    let mut backup = out.gauge(
        "tintype_last_backup_timestamp_seconds",
        "Time of the last backup or export of the running service in seconds since the Unix epoch. Absent if there was none.",
    );
    if let Some(at) = LAST_BACKUP_OR_EXPORT.get(store, &()).wait()? {
        backup.value(&[], at.seconds());
    }
    Ok(())
}

/// The total size of the files below a folder. Unreadable and vanished files count as 0.
fn size(folder: &Path, depth: usize) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let of = |entry: fs::DirEntry| match entry.metadata() {
        Ok(found) if found.is_dir() && depth > 0 => size(&entry.path(), depth - 1),
        Ok(found) if found.is_file() => found.len(),
        _ => 0,
    };
    entries.map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_all_levels_count() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("below")).unwrap();
        fs::write(folder.path().join("one"), [0; 10]).unwrap();
        fs::write(folder.path().join("below/two"), [0; 7]).unwrap();
        assert_eq!(size(folder.path(), 1), 17);
        assert_eq!(size(folder.path(), 0), 10);
        assert_eq!(size(&folder.path().join("nowhere"), 1), 0);
    }
}
