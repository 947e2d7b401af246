//! Deletes the unfinished uploads that an interrupted process left in the local directory.

use super::{ObjectError, ObjectStorage, StoreKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};
use std::{fs, io};

/// Room for a usual image: a disk with less is full.
const PROBE_BYTES: usize = 1 << 20;

impl ObjectStorage {
    /// Deletes unfinished uploads below a prefix of the local directory and returns their number. The prefix may be empty.
    ///
    /// The local store writes to `<name>#<number>` beside the object and renames it; a process that
    /// is killed in between leaves that file, and no listing shows it. A running upload looks the same. So
    /// call this without `min_age` only at startup, in the process that owns the data directory, before it writes.
    /// Does nothing for a cloud, where a lifecycle rule of the bucket deletes unfinished uploads.
    ///
    /// # Errors
    /// `Files`, with the directory.
    pub async fn remove_unfinished_uploads(
        &self,
        prefix: &str,
        min_age: Option<Duration>,
    ) -> Result<usize, ObjectError> {
        let StoreKind::Local { root, .. } = &self.inner.backend.kind else {
            return Ok(0);
        };
        let directory = root.join(prefix);
        let swept = tokio::task::spawn_blocking(move || sweep(&directory, min_age)).await;
        let swept = swept.unwrap_or_else(|error| Err(io::Error::other(error)));
        swept.map_err(ObjectError::files(
            "cannot clear unfinished uploads in",
            root,
        ))
    }
}

/// Writes a small file and deletes it, even if the caller stops waiting. The file's name is that of an unfinished upload, so no
/// listing shows it, and the next sweep deletes one that a crash leaves.
pub(super) async fn try_to_write(root: &Path) -> io::Result<()> {
    static PROBES: AtomicU64 = AtomicU64::new(0);
    let number = PROBES.fetch_add(1, Ordering::Relaxed);
    let path = root.join(format!("probe#{number}"));
    let probe = move || {
        // Not an empty file: it would fit even on a full disk.
        let written = fs::write(&path, vec![0; PROBE_BYTES]);
        let removed = fs::remove_file(&path);
        written.and(removed)
    };
    let probed = tokio::task::spawn_blocking(probe).await;
    probed.unwrap_or_else(|error| Err(io::Error::other(error)))
}

fn sweep(root: &Path, min_age: Option<Duration>) -> io::Result<usize> {
    if !root.is_dir() {
        return Ok(0);
    }
    let now = SystemTime::now();
    let is_old = |modified: SystemTime, age: Duration| {
        now.duration_since(modified).is_ok_and(|past| past >= age)
    };
    let mut waiting: Vec<PathBuf> = vec![root.to_path_buf()];
    let mut removed = 0;
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            // Skips symbolic links: the server does not write them.
            let kind = entry.file_type()?;
            if kind.is_dir() {
                waiting.push(entry.path());
            } else if kind.is_file() && is_unfinished(&entry.file_name().to_string_lossy()) {
                let modified = || entry.metadata()?.modified();
                if let Some(age) = min_age
                    && !is_old(modified()?, age)
                {
                    continue;
                }
                fs::remove_file(entry.path())?;
                removed += 1;
            }
        }
    }
    Ok(removed)
}

/// A valid key holds no `#`, so such a name is never an object.
fn is_unfinished(name: &str) -> bool {
    name.rsplit_once('#').is_some_and(|(_, number)| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    #[test]
    fn a_probe_deletes_its_file_even_if_its_caller_stops_waiting() {
        let root = tempfile::tempdir().unwrap();
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.max_blocking_threads(1).build().unwrap();
        runtime.block_on(async {
            drop(try_to_write(root.path()).now_or_never());
            // Runs after the probe, because there is one thread.
            tokio::task::spawn_blocking(|| ()).await.unwrap();
        });
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    }

    #[test]
    fn only_unfinished_uploads_are_deleted() {
        let root = tempfile::tempdir().unwrap();
        let inputs = root.path().join("inputs/job");
        fs::create_dir_all(&inputs).unwrap();
        for (name, stays) in [("0", true), ("0#1", false), ("1#27", false), ("a#b", true)] {
            fs::write(inputs.join(name), name).unwrap();
            assert_eq!(is_unfinished(name), !stays, "{name}");
        }
        let hour = Duration::from_secs(3_600);
        assert_eq!(sweep(root.path(), Some(hour)).unwrap(), 0, "all are young");
        let aged = fs::File::options()
            .write(true)
            .open(inputs.join("0#1"))
            .unwrap();
        aged.set_modified(SystemTime::now() - 2 * hour).unwrap();
        assert_eq!(sweep(root.path(), Some(hour)).unwrap(), 1);
        assert_eq!(sweep(root.path(), None).unwrap(), 1);
        let mut left: Vec<_> = fs::read_dir(&inputs)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, ["0", "a#b"]);
        assert_eq!(sweep(root.path(), None).unwrap(), 0);
    }
}
