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
        writing.groups = writing.file_system_of(&Path::from(RESULTS)).is_some();
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
        let mut written: Vec<(FileSystem, Vec<_>)> = Vec::new();
        for request in requests {
            // Before the write: a descriptor that was opened later may miss its loss.
            let Some(opened) = self.file_system_of(&request.location) else {
                self.write_single(request);
                continue;
            };
            let device = opened.device;
            let known = written.iter().position(|it| it.0.device == device);
            let at = known.unwrap_or(written.len());
            if known.is_none() {
                written.push((opened, Vec::new()));
            }
            match write(&self.unsynced, request.location, request.bytes) {
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

    /// Opens the file system of an object: the operator may have put a directory such as `results` on another disk.
    fn file_system_of(&self, location: &Path) -> Option<FileSystem> {
        let mut directory = self.root.clone();
        directory.extend(location.parts().next().map(|it| it.as_ref().to_owned()));
        // The first write creates the directory.
        (self.open)(if directory.is_dir() {
            &directory
        } else {
            &self.root
        })
    }
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
mod tests {
    use super::*;
    use futures_util::future::join_all;
    use std::fs;
    use tokio::sync::oneshot::error::TryRecvError;

    type Outcome = oneshot::Receiver<object_store::Result<()>>;

    struct Case {
        root: tempfile::TempDir,
        requests: Sender<WriteRequest>,
        writing: Writing,
        syncs: Arc<AtomicUsize>,
    }

    impl Case {
        /// Starts no threads: the tests call `serve_next`.
        fn new(sync: impl Fn() -> io::Result<()> + Send + Sync + 'static) -> Self {
            let root = tempfile::tempdir().unwrap();
            let store = || LocalFileSystem::new_with_prefix(root.path()).unwrap();
            let (requests, queue) = mpsc::channel();
            let syncs = Arc::new(AtomicUsize::new(0));
            let (counted, sync) = (Arc::clone(&syncs), Arc::new(sync));
            let open: OpenFileSystem = Box::new(move |_| {
                let (counted, sync) = (Arc::clone(&counted), Arc::clone(&sync));
                Some(FileSystem {
                    device: 1,
                    sync: Box::new(move || {
                        counted.fetch_add(1, Ordering::Relaxed);
                        sync()
                    }),
                })
            });
            let durable = store().with_fsync(true);
            let writing = Writing::new(queue, durable, store(), root.path(), open);
            Self {
                root,
                requests,
                writing,
                syncs,
            }
        }

        fn request(&self, key: &str) -> Outcome {
            let (done, outcome) = oneshot::channel();
            let request = WriteRequest {
                location: Path::from(key),
                bytes: Bytes::copy_from_slice(key.as_bytes()),
                done,
            };
            self.writing.queued.fetch_add(1, Ordering::Relaxed);
            self.requests.send(request).unwrap();
            outcome
        }

        fn request_many(&self) -> Vec<Outcome> {
            let requests = 0..MIN_GROUP;
            requests
                .map(|number| self.request(&format!("results/{number}")))
                .collect()
        }

        fn syncs(&self) -> usize {
            self.syncs.load(Ordering::Relaxed)
        }
    }

    fn outcome(mut receiver: Outcome) -> object_store::Result<()> {
        receiver.try_recv().expect("an outcome")
    }

    #[test]
    fn a_group_returns_once_the_file_system_is_durable() {
        let waiting: Arc<Mutex<Vec<Outcome>>> = Arc::default();
        let seen = Arc::clone(&waiting);
        let case = Case::new(move || {
            for receiver in seen.lock().iter_mut() {
                assert!(matches!(receiver.try_recv(), Err(TryRecvError::Empty)));
            }
            Ok(())
        });
        *waiting.lock() = case.request_many();
        case.writing.serve_next().unwrap();
        assert_eq!(case.syncs(), 1);
        for (number, receiver) in std::mem::take(&mut *waiting.lock()).into_iter().enumerate() {
            outcome(receiver).unwrap();
            let key = format!("results/{number}");
            assert_eq!(
                fs::read_to_string(case.root.path().join(&key)).unwrap(),
                key
            );
        }
    }

    #[test]
    fn a_short_queue_syncs_single_files() {
        let case = Case::new(|| Ok(()));
        let outcomes: Vec<Outcome> = (1..MIN_GROUP)
            .map(|it| case.request(&it.to_string()))
            .collect();
        for receiver in outcomes {
            case.writing.serve_next().unwrap();
            outcome(receiver).unwrap();
        }
        assert_eq!(case.syncs(), 0);
    }

    #[test]
    fn a_failed_write_does_not_fail_its_group() {
        let case = Case::new(|| Ok(()));
        fs::write(case.root.path().join("inputs"), "in the way").unwrap();
        let bad = case.request("inputs/a");
        let good = case.request_many();
        case.writing.serve_next().unwrap();
        outcome(bad).unwrap_err();
        good.into_iter()
            .for_each(|receiver| outcome(receiver).unwrap());
    }

    #[test]
    fn a_failed_sync_fails_the_whole_group() {
        let case = Case::new(|| Err(io::Error::other("the disk is gone")));
        let outcomes = case.request_many();
        case.writing.serve_next().unwrap();
        for receiver in outcomes {
            let error = outcome(receiver).unwrap_err().to_string();
            assert!(error.contains("the disk is gone"), "{error}");
        }
    }

    #[test]
    fn each_group_syncs_the_file_systems_that_it_opened_before_its_writes() {
        let mut case = Case::new(|| Ok(()));
        let [results, inputs] = ["results", "inputs"].map(|it| case.root.path().join(it));
        fs::create_dir(&results).unwrap();
        fs::create_dir(&inputs).unwrap();
        let synced: Arc<Mutex<Vec<(u64, bool)>>> = Arc::default();
        let seen = Arc::clone(&synced);
        case.writing.open = Box::new(move |directory| {
            let is_empty = fs::read_dir(directory).unwrap().next().is_none();
            let device = if directory == results { 1 } else { 2 };
            let seen = Arc::clone(&seen);
            (directory != inputs).then(|| FileSystem {
                device,
                sync: Box::new(move || {
                    seen.lock().push((device, is_empty));
                    Ok(())
                }),
            })
        });
        let mut outcomes = Vec::new();
        for round in 0..2 {
            for directory in ["results", "inputs", "thumbnails"] {
                let keys = (0..3).map(|it| format!("{directory}/{round}-{it}"));
                outcomes.extend(keys.map(|key| case.request(&key)));
            }
            case.writing.serve_next().unwrap();
        }
        for receiver in outcomes {
            outcome(receiver).unwrap();
        }
        let groups = [(1, true), (2, false), (1, false), (2, false)];
        assert_eq!(*synced.lock(), groups);
    }

    #[test]
    fn a_slow_sync_suspends_group_commit() {
        let mut case = Case::new(|| Ok(()));
        case.writing.slow_sync = Duration::ZERO;
        let outcomes = case.request_many();
        case.writing.serve_next().unwrap();
        outcomes
            .into_iter()
            .for_each(|receiver| outcome(receiver).unwrap());
        for receiver in case.request_many() {
            case.writing.serve_next().unwrap();
            outcome(receiver).unwrap();
        }
        assert_eq!(case.syncs(), 1);
        *case.writing.no_groups_until.lock() = Some(Instant::now());
        let _outcomes = case.request_many();
        case.writing.serve_next().unwrap();
        assert_eq!(case.syncs(), 2);
    }

    #[test]
    fn a_thread_is_added_when_all_hang() {
        let case = Case::new(|| Ok(()));
        let writing = Arc::new(case.writing);
        let long_ago = Instant::now().checked_sub(HANG).unwrap();
        *writing.last_taken.lock() = long_ago;
        Writing::add_thread_if_stuck(&writing);
        assert_eq!(writing.threads.load(Ordering::Relaxed), 0, "nothing waits");
        writing.queued.store(1, Ordering::Relaxed);
        for _ in 0..2 {
            Writing::add_thread_if_stuck(&writing);
            assert_eq!(
                writing.threads.load(Ordering::Relaxed),
                1,
                "it has its time"
            );
        }
        writing.threads.store(MAX_THREADS, Ordering::Relaxed);
        *writing.last_taken.lock() = long_ago;
        Writing::add_thread_if_stuck(&writing);
        assert_eq!(writing.threads.load(Ordering::Relaxed), MAX_THREADS);
    }

    #[tokio::test]
    async fn writes_of_many_callers_are_complete() {
        let root = tempfile::tempdir().unwrap();
        let durable = LocalFileSystem::new_with_prefix(root.path()).unwrap();
        let writer = LocalWriter::start(root.path(), durable.with_fsync(true)).unwrap();
        let put = async |number: usize| {
            let location = Path::from(format!("inputs/{number}/0"));
            writer.put(location, number.to_string().into()).await
        };
        for outcome in join_all((0..500).map(put)).await {
            outcome.unwrap();
        }
        for number in 0..500 {
            let path = root.path().join(format!("inputs/{number}/0"));
            assert_eq!(fs::read_to_string(path).unwrap(), number.to_string());
        }
    }
}
