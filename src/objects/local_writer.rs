//! Group commit for writes to the local directory.
//!
//! A single write waits for the disk twice, for its bytes and for its directory entry, and hundreds of concurrent writes contend
//! for the lock of their directory. So a few threads do all writes. A thread that finds a long queue writes the whole group without
//! waiting for the disk, and then calls `syncfs` once, on a descriptor of its own: Linux reports a lost write once per descriptor that
//! was open at that time. `syncfs` also flushes other programs' data: after a slow call, writes are
//! synced one by one for a while. A write that hangs does not block the others: when no thread has taken a request for a while,
//! another thread starts.

use super::file_system::{FileSystem, OpenFileSystem};
use super::{ObjectError, RESULTS};
use bytes::Bytes;
use futures_util::FutureExt as _;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _};
use parking_lot::Mutex;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};
use std::{io, thread};
use tokio::sync::oneshot;

/// With group commit: one thread writes while the other waits for the disk.
const GROUP_THREADS: usize = 2;
/// Without group commit: each thread waits for its own write.
const SINGLE_THREADS: usize = 16;
/// Including the threads started because others hang.
const MAX_THREADS: usize = 64;
/// If requests wait and no thread has taken one for this long, all threads hang.
const HANG: Duration = Duration::from_secs(5);
/// The queue length from which a thread commits a group.
const MIN_GROUP: usize = 8;
const MAX_GROUP: usize = 256;
/// A group of this size takes longer to write than to sync, so no further request joins it.
const MAX_GROUP_BYTES: usize = 64 << 20;
/// A `syncfs` that takes longer mostly flushes other programs' data.
const SLOW_SYNC: Duration = Duration::from_secs(1);
/// No group commit for this long after a slow `syncfs`.
const GROUP_COOLDOWN: Duration = Duration::from_secs(60);

pub(super) struct LocalWriter {
    requests: Sender<WriteRequest>,
    writing: Arc<Writing>,
}

struct WriteRequest {
    location: Path,
    bytes: Bytes,
    done: oneshot::Sender<object_store::Result<()>>,
}

impl LocalWriter {
    /// Starts the threads, which end when the writer is dropped. `durable` syncs each write below `root`.
    ///
    /// # Errors
    /// `Files` when the directory cannot be used or a thread cannot start.
    pub(super) fn start(root: &FilePath, durable: LocalFileSystem) -> Result<Self, ObjectError> {
        let files = ObjectError::files("cannot write to the object directory", root);
        let unsynced = LocalFileSystem::new_with_prefix(root)
            .map_err(io::Error::other)
            .map_err(&files)?;
        let (requests, queue) = mpsc::channel();
        let open: OpenFileSystem = Box::new(FileSystem::open);
        let mut writing = Writing::new(queue, durable, unsynced, root, open);
        // Most objects of a long queue are results.
        writing.groups = writing.file_system_of(RESULTS).is_some();
        let threads = match writing.groups {
            true => GROUP_THREADS,
            false => SINGLE_THREADS,
        };
        let writing = Arc::new(writing);
        for _ in 0..threads {
            Writing::start_thread(&writing).map_err(&files)?;
        }
        Ok(Self { requests, writing })
    }

    /// Writes an object and replaces an existing one. When this returns, the object is complete and durable. Dropping the future does
    /// not cancel the write.
    pub(super) async fn put(&self, location: Path, bytes: Bytes) -> object_store::Result<()> {
        let (done, outcome) = oneshot::channel();
        let request = WriteRequest {
            location,
            bytes,
            done,
        };
        let ended = || fault(io::Error::other("the thread that writes objects has ended"));
        self.writing.queued.fetch_add(1, Ordering::Relaxed);
        self.requests.send(request).map_err(|_| ended())?;
        outcome.await.unwrap_or_else(|_| Err(ended()))
    }

    /// Starts another thread if all others hang.
    pub(super) fn add_thread_if_stuck(&self) {
        Writing::add_thread_if_stuck(&self.writing);
    }
}

struct Writing {
    queue: Mutex<Receiver<WriteRequest>>,
    /// Syncs each write.
    durable: LocalFileSystem,
    /// Does not sync.
    unsynced: LocalFileSystem,
    root: PathBuf,
    open: OpenFileSystem,
    /// May a thread commit a group?
    groups: bool,
    slow_sync: Duration,
    no_groups_until: Mutex<Option<Instant>>,
    /// Requests in the queue.
    queued: AtomicUsize,
    /// The time when a thread last took a request.
    last_taken: Mutex<Instant>,
    threads: AtomicUsize,
}

impl Writing {
    fn new(
        queue: Receiver<WriteRequest>,
        durable: LocalFileSystem,
        unsynced: LocalFileSystem,
        root: &FilePath,
        open: OpenFileSystem,
    ) -> Self {
        Self {
            queue: Mutex::new(queue),
            durable,
            unsynced,
            root: root.to_owned(),
            open,
            groups: true,
            slow_sync: SLOW_SYNC,
            no_groups_until: Mutex::new(None),
            queued: AtomicUsize::new(0),
            last_taken: Mutex::new(Instant::now()),
            threads: AtomicUsize::new(0),
        }
    }

    fn start_thread(this: &Arc<Self>) -> io::Result<()> {
        let writing = Arc::clone(this);
        let number = this.threads.fetch_add(1, Ordering::Relaxed);
        let thread = thread::Builder::new().name(format!("objects-{number}"));
        thread.spawn(move || while writing.serve_next().is_some() {})?;
        Ok(())
    }

    fn add_thread_if_stuck(this: &Arc<Self>) {
        let mut taken = this.last_taken.lock();
        let hang = this.queued.load(Ordering::Relaxed) > 0 && taken.elapsed() >= HANG;
        if !hang || this.threads.load(Ordering::Relaxed) >= MAX_THREADS {
            return;
        }
        tracing::warn!(
            "writes to the object directory hang; starting another thread for the queued writes"
        );
        // Gives the new thread as long to take a request.
        *taken = Instant::now();
        if let Err(error) = Self::start_thread(this) {
            tracing::error!(%error, "could not start a thread to write objects");
        }
    }

    /// Waits for requests and serves them; `None` when the queue is closed.
    fn serve_next(&self) -> Option<()> {
        let requests = self.take()?;
        match requests.len() {
            1 => requests.into_iter().for_each(|it| self.write_single(it)),
            _ => self.write_group(requests),
        }
        Some(())
    }

    /// Waits for a request. From a long queue it takes a group, otherwise a single request.
    fn take(&self) -> Option<Vec<WriteRequest>> {
        let queue = self.queue.lock();
        let mut requests = vec![queue.recv().ok()?];
        if self.queued.load(Ordering::Relaxed) >= MIN_GROUP && self.may_group() {
            let mut bytes = requests[0].bytes.len();
            while requests.len() < MAX_GROUP && bytes < MAX_GROUP_BYTES {
                let Ok(request) = queue.try_recv() else { break };
                bytes += request.bytes.len();
                requests.push(request);
            }
        }
        self.queued.fetch_sub(requests.len(), Ordering::Relaxed);
        *self.last_taken.lock() = Instant::now();
        Some(requests)
    }

    fn may_group(&self) -> bool {
        let until = *self.no_groups_until.lock();
        self.groups && until.is_none_or(|until| Instant::now() >= until)
    }

    fn write_single(&self, request: WriteRequest) {
        let written = write(&self.durable, request.location, request.bytes);
        // The caller may be gone.
        drop(request.done.send(written));
    }

    fn write_group(&self, requests: Vec<WriteRequest>) {
        let mut written: Vec<Synced> = Vec::new();
        // The index in `written` for the first part of each key.
        let mut opened: Vec<(String, Option<usize>)> = Vec::new();
        for request in requests {
            let directory = directory_of(&request.location);
            let known = opened.iter().find(|it| it.0 == directory).map(|it| it.1);
            let at = known.unwrap_or_else(|| {
                // Before the write: a descriptor that was opened later may miss its loss.
                let at = self.file_system_of(&directory);
                let at = at.map(|it| index_of(it, &mut written));
                opened.push((directory, at));
                at
            });
            let Some(at) = at else {
                self.write_single(request);
                continue;
            };
            match self.write_unsynced(request.location, request.bytes) {
                Ok(()) => written[at].1.push(request.done),
                error => drop(request.done.send(error)),
            }
        }
        for (file_system, callers) in written {
            let began = Instant::now();
            let outcome = (file_system.sync)();
            if began.elapsed() > self.slow_sync {
                *self.no_groups_until.lock() = Some(Instant::now() + GROUP_COOLDOWN);
            }
            for done in callers {
                // Any of the writes may be lost, so each fails.
                let outcome = match &outcome {
                    Ok(()) => Ok(()),
                    Err(error) => Err(fault(io::Error::new(error.kind(), error.to_string()))),
                };
                drop(done.send(outcome));
            }
        }
    }

    /// Opens the file system of the objects whose keys begin with `directory`: the operator may have put a directory such as `results`
    /// on another disk.
    fn file_system_of(&self, directory: &str) -> Option<FileSystem> {
        let path = self.root.join(directory);
        // The first write creates the directory.
        (self.open)(if path.is_dir() { &path } else { &self.root })
    }

    /// Writes a result to its final name, because a temporary name costs as much as the write: an entry of the directory more, its
    /// search and its removal. A crash may leave an incomplete file, but no record names a result before its group is synced. All
    /// other objects, and a result that exists, are replaced as a whole.
    fn write_unsynced(&self, location: Path, bytes: Bytes) -> object_store::Result<()> {
        if directory_of(&location) == RESULTS
            && let Some(written) = create(&self.unsynced.path_to_filesystem(&location)?, &bytes)
        {
            return written.map_err(fault);
        }
        write(&self.unsynced, location, bytes)
    }
}

/// A file system, and the callers whose writes its `syncfs` makes durable.
type Synced = (FileSystem, Vec<oneshot::Sender<object_store::Result<()>>>);

/// The index of the file system, which is added unless it is open already.
fn index_of(opened: FileSystem, written: &mut Vec<Synced>) -> usize {
    let known = written.iter().position(|it| it.0.device == opened.device);
    known.unwrap_or_else(|| {
        written.push((opened, Vec::new()));
        written.len() - 1
    })
}

/// The first part of a key.
fn directory_of(location: &Path) -> String {
    let first = location.parts().next();
    first.map_or_else(String::new, |it| it.as_ref().to_owned())
}

/// Writes a new file. `None` if it cannot be created, as when it exists or its directory is missing.
fn create(path: &FilePath, bytes: &[u8]) -> Option<io::Result<()>> {
    let file = File::create_new(path).ok()?;
    Some(fill(file, path, bytes))
}

/// Writes the content of the new file at `path`. Removes a file that cannot be written completely, unless another write has replaced it
/// while this one hung.
fn fill(mut file: File, path: &FilePath, bytes: &[u8]) -> io::Result<()> {
    let written = file.write_all(bytes);
    if written.is_err() {
        let identity = |it: fs::Metadata| (it.dev(), it.ino());
        let own = file.metadata().map(identity).ok();
        let named = fs::symlink_metadata(path).map(identity).ok();
        if named.is_some() && named == own {
            // The error of the write says more.
            drop(fs::remove_file(path));
        }
    }
    written
}

/// These threads have no runtime, so the store's future completes at the first poll.
fn write(store: &LocalFileSystem, location: Path, bytes: Bytes) -> object_store::Result<()> {
    let store: &dyn ObjectStore = store;
    let written = store.put(&location, bytes.into()).now_or_never();
    let pending = || Err(fault(io::Error::other("the write did not end")));
    written.unwrap_or_else(pending).map(drop)
}

fn fault(error: io::Error) -> object_store::Error {
    object_store::Error::Generic {
        store: "LocalFileSystem",
        source: Box::new(error),
    }
}

#[cfg(test)]
mod tests;
