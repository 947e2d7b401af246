//! The job store: its commits, the disk beneath it, and how much of it there is.

use super::exposition::Exposition;
use std::fs;
use std::path::Path;
use tintype_storage::engine::EngineStats;
use tintype_storage::store::Store;

/// Folders below each other that are looked into for the size of the store. It has two levels itself.
const DEPTH: usize = 4;

/// Tells them. Looks at the files, so it blocks.
pub fn collect(told: &mut Exposition, store: &Store, store_dir: &Path) {
    let EngineStats {
        commits,
        syncs,
        sync_times,
        commits_per_sync,
        bytes,
        backlog_bytes,
    } = store.engine().stats();
    told.counter(
        "tintype_store_commits_total",
        "Commits that are on the disk.",
    )
    .value(&[], commits);
    told.counter(
        "tintype_store_syncs_total",
        "Times that the disk was asked to make commits durable; several share one.",
    )
    .value(&[], syncs);
    told.histogram(
        "tintype_store_sync_duration_seconds",
        "Time that the disk took to make commits durable (fdatasync).",
    )
    .seconds(&[], &sync_times);
    told.histogram(
        "tintype_store_commits_per_sync",
        "Commits that shared one sync.",
    )
    .numbers(&[], &commits_per_sync);
    told.counter(
        "tintype_store_written_bytes_total",
        "Bytes of keys and values in commits that are on the disk.",
    )
    .value(&[], bytes);
    told.gauge(
        "tintype_store_backlog_bytes",
        "Bytes of commits in the journal that the tree has yet to take.",
    )
    .value(&[], backlog_bytes);
    told.gauge(
        "tintype_store_disk_bytes",
        "What the files of the store take on the disk, pictures not included.",
    )
    .value(&[], size(store_dir, DEPTH));
}

/// Bytes of the files below a folder. What cannot be read, or goes away meanwhile, counts nothing.
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
