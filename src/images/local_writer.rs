//! Writes to the local directory, of which those that wait at the same time become durable together.
//!
//! By itself a write waits for the disk twice, for its bytes and for its name, and hundreds at a time stand in each other's way
//! at the lock of their directory. So a few threads do all of them. One that finds many waiting writes them all without waiting for
//! the disk, and then has the file system made durable as a whole (`syncfs`), once for all. That writes what other programs have
//! left to be written as well: where it has taken long, writes go one by one for a while. A write that hangs costs nobody
//! else: further threads are started when nothing has been taken for a while.

use super::ImagesError;
use bytes::Bytes;
use futures_util::FutureExt as _;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _};
use parking_lot::Mutex;
use std::path::Path as FilePath;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};
use std::{io, thread};
use tokio::sync::oneshot;

/// Where writes can share: while one waits for the disk, the other writes.
const FEW_THREADS: usize = 2;
/// Where each waits for itself.
const THREADS: usize = 16;
/// With those that are started because others hang.
const MOST_THREADS: usize = 64;
/// When nothing has been taken for as long as this, and something waits, all threads hang.
const HANG: Duration = Duration::from_secs(5);
/// From here on writes are many.
const MANY: usize = 8;
/// The most that share one wait.
const MOST: usize = 256;
/// Bytes from which on no further one joins them: writing these takes longer than the wait by then.
const MOST_BYTES: usize = 64 << 20;
/// A file system that takes longer than this has more to do than our writes.
const LONG: Duration = Duration::from_secs(1);
/// How long it is not asked again.
const A_WHILE: Duration = Duration::from_secs(60);

/// Writes objects below a directory.
pub(super) struct LocalWriter {
    wishes: Sender<Wish>,
    writing: Arc<Writing>,
}

struct Wish {
    location: Path,
    bytes: Bytes,
    done: oneshot::Sender<object_store::Result<()>>,
}

impl LocalWriter {
    /// Starts its threads, which end when it is dropped. `durable` waits for the disk at each write below `root`.
    ///
    /// # Errors
    /// `Files` when the directory cannot be used, or a thread not be started.
    pub(super) fn start(root: &FilePath, durable: LocalFileSystem) -> Result<Self, ImagesError> {
        let files = |source| ImagesError::Files {
            action: "cannot write to the object directory",
            path: root.to_path_buf(),
            source,
        };
        let swift = LocalFileSystem::new_with_prefix(root)
            .map_err(io::Error::other)
            .map_err(files)?;
        let (wishes, queue) = mpsc::channel();
        let writing = Arc::new(Writing::new(queue, durable, swift, whole_file_system(root)));
        let threads = match writing.whole {
            Some(_) => FEW_THREADS,
            None => THREADS,
        };
        for _ in 0..threads {
            Writing::start_thread(&writing).map_err(files)?;
        }
        Ok(Self { wishes, writing })
    }

    /// Writes an object, over one of the same key. When this returns, it is durable and whole; before that it may be there in
    /// part. It is written even if nobody waits for it any more.
    ///
    /// # Errors
    /// Those of the file system.
    pub(super) async fn put(&self, location: Path, bytes: Bytes) -> object_store::Result<()> {
        let (done, told) = oneshot::channel();
        let wish = Wish {
            location,
            bytes,
            done,
        };
        let ended = || fault(io::Error::other("the thread that writes objects has ended"));
        self.writing.waiting.fetch_add(1, Ordering::Relaxed);
        self.wishes.send(wish).map_err(|_| ended())?;
        told.await.unwrap_or_else(|_| Err(ended()))
    }

    /// Starts a further thread where the others hang.
    pub(super) fn help(&self) {
        Writing::help(&self.writing);
    }
}

/// Makes durable whatever has been written to a file system.
type Whole = Box<dyn Fn() -> io::Result<()> + Send + Sync>;

/// What the threads share.
struct Writing {
    queue: Mutex<Receiver<Wish>>,
    /// Waits for the disk.
    durable: LocalFileSystem,
    /// Does not.
    swift: LocalFileSystem,
    /// `None` where the file system is not known to keep its word.
    whole: Option<Whole>,
    long: Duration,
    one_by_one_until: Mutex<Option<Instant>>,
    /// Wishes in the queue.
    waiting: AtomicUsize,
    /// When one was last taken out of it.
    taken: Mutex<Instant>,
    threads: AtomicUsize,
}

impl Writing {
    fn new(
        queue: Receiver<Wish>,
        durable: LocalFileSystem,
        swift: LocalFileSystem,
        whole: Option<Whole>,
    ) -> Self {
        Self {
            queue: Mutex::new(queue),
            durable,
            swift,
            whole,
            long: LONG,
            one_by_one_until: Mutex::new(None),
            waiting: AtomicUsize::new(0),
            taken: Mutex::new(Instant::now()),
            threads: AtomicUsize::new(0),
        }
    }

    fn start_thread(this: &Arc<Self>) -> io::Result<()> {
        let writing = Arc::clone(this);
        let number = this.threads.fetch_add(1, Ordering::Relaxed);
        let thread = thread::Builder::new().name(format!("objects-{number}"));
        thread.spawn(move || while writing.turn().is_some() {})?;
        Ok(())
    }

    fn help(this: &Arc<Self>) {
        let mut taken = this.taken.lock();
        let hang = this.waiting.load(Ordering::Relaxed) > 0 && taken.elapsed() >= HANG;
        if !hang || this.threads.load(Ordering::Relaxed) >= MOST_THREADS {
            return;
        }
        tracing::warn!(
            "writes to the object directory hang; another thread is started for those that wait"
        );
        // The new one has as long to take something.
        *taken = Instant::now();
        if let Err(error) = Self::start_thread(this) {
            tracing::error!(%error, "no thread to write objects with");
        }
    }

    /// Waits for wishes and grants them; `None` when there will be no more.
    fn turn(&self) -> Option<()> {
        let wishes = self.take()?;
        match &self.whole {
            Some(whole) if wishes.len() > 1 => self.together(wishes, whole),
            _ => {
                for wish in wishes {
                    let written = write(&self.durable, wish.location, wish.bytes);
                    // Whoever has wished for it may have left.
                    drop(wish.done.send(written));
                }
            }
        }
        Some(())
    }

    /// Waits for a wish, and takes those along that can share its wait. Of few, each thread takes one.
    fn take(&self) -> Option<Vec<Wish>> {
        let queue = self.queue.lock();
        let mut wishes = vec![queue.recv().ok()?];
        if self.waiting.load(Ordering::Relaxed) >= MANY && self.may_share() {
            let mut bytes = wishes[0].bytes.len();
            while wishes.len() < MOST && bytes < MOST_BYTES {
                let Ok(wish) = queue.try_recv() else { break };
                bytes += wish.bytes.len();
                wishes.push(wish);
            }
        }
        self.waiting.fetch_sub(wishes.len(), Ordering::Relaxed);
        *self.taken.lock() = Instant::now();
        Some(wishes)
    }

    fn may_share(&self) -> bool {
        let until = *self.one_by_one_until.lock();
        self.whole.is_some() && until.is_none_or(|until| Instant::now() >= until)
    }

    fn together(&self, wishes: Vec<Wish>, whole: &Whole) {
        let mut written = Vec::with_capacity(wishes.len());
        for wish in wishes {
            match write(&self.swift, wish.location, wish.bytes) {
                Ok(()) => written.push(wish.done),
                Err(error) => drop(wish.done.send(Err(error))),
            }
        }
        let began = Instant::now();
        let outcome = whole();
        if began.elapsed() > self.long {
            *self.one_by_one_until.lock() = Some(Instant::now() + A_WHILE);
        }
        for done in written {
            // Whose bytes were lost cannot be told, so each is to be written again.
            let outcome = match &outcome {
                Ok(()) => Ok(()),
                Err(error) => Err(fault(io::Error::new(error.kind(), error.to_string()))),
            };
            drop(done.send(outcome));
        }
    }
}

/// Outside of a runtime, where this is called, the store does its work at once.
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

/// `syncfs` on the file system that holds this directory, where that is one that is known to wait for its disk. Others may
/// pass only a part on, such as FUSE, which keeps `syncfs` from the program behind it.
#[cfg(target_os = "linux")]
fn whole_file_system(root: &FilePath) -> Option<Whole> {
    use nix::sys::statfs::{BTRFS_SUPER_MAGIC, EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, fstatfs};
    use nix::unistd::syncfs;
    let directory = std::fs::File::open(root).ok()?;
    let kind = fstatfs(&directory).ok()?.filesystem_type();
    let sync: Whole = Box::new(move || Ok(syncfs(&directory)?));
    [EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC]
        .contains(&kind)
        .then_some(sync)
}

#[cfg(not(target_os = "linux"))]
fn whole_file_system(_: &FilePath) -> Option<Whole> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::future::join_all;
    use std::fs;
    use tokio::sync::oneshot::error::TryRecvError;

    type Told = oneshot::Receiver<object_store::Result<()>>;

    struct Case {
        root: tempfile::TempDir,
        wishes: Sender<Wish>,
        writing: Writing,
        syncs: Arc<AtomicUsize>,
    }

    impl Case {
        /// Without threads: turns are taken when a test says so.
        fn new(sync: impl Fn() -> io::Result<()> + Send + Sync + 'static) -> Self {
            let root = tempfile::tempdir().unwrap();
            let store = || LocalFileSystem::new_with_prefix(root.path()).unwrap();
            let (wishes, queue) = mpsc::channel();
            let syncs = Arc::new(AtomicUsize::new(0));
            let counted = Arc::clone(&syncs);
            let whole: Whole = Box::new(move || {
                counted.fetch_add(1, Ordering::Relaxed);
                sync()
            });
            let durable = store().with_fsync(true);
            let writing = Writing::new(queue, durable, store(), Some(whole));
            Self {
                root,
                wishes,
                writing,
                syncs,
            }
        }

        fn wish(&self, key: &str) -> Told {
            let (done, told) = oneshot::channel();
            let wish = Wish {
                location: Path::from(key),
                bytes: Bytes::copy_from_slice(key.as_bytes()),
                done,
            };
            self.writing.waiting.fetch_add(1, Ordering::Relaxed);
            self.wishes.send(wish).unwrap();
            told
        }

        fn wish_many(&self) -> Vec<Told> {
            let wishes = 0..MANY;
            wishes
                .map(|number| self.wish(&format!("results/{number}")))
                .collect()
        }

        fn syncs(&self) -> usize {
            self.syncs.load(Ordering::Relaxed)
        }
    }

    fn outcome(mut told: Told) -> object_store::Result<()> {
        told.try_recv().expect("told")
    }

    #[test]
    fn many_are_told_once_the_file_system_is_durable() {
        let waiting: Arc<Mutex<Vec<Told>>> = Arc::default();
        let seen = Arc::clone(&waiting);
        let case = Case::new(move || {
            for told in seen.lock().iter_mut() {
                assert!(matches!(told.try_recv(), Err(TryRecvError::Empty)));
            }
            Ok(())
        });
        *waiting.lock() = case.wish_many();
        case.writing.turn().unwrap();
        assert_eq!(case.syncs(), 1);
        for (number, told) in std::mem::take(&mut *waiting.lock()).into_iter().enumerate() {
            outcome(told).unwrap();
            let key = format!("results/{number}");
            assert_eq!(
                fs::read_to_string(case.root.path().join(&key)).unwrap(),
                key
            );
        }
    }

    #[test]
    fn few_wait_for_their_own_files_alone() {
        let case = Case::new(|| Ok(()));
        let told: Vec<Told> = (1..MANY).map(|it| case.wish(&it.to_string())).collect();
        for told in told {
            case.writing.turn().unwrap();
            outcome(told).unwrap();
        }
        assert_eq!(case.syncs(), 0);
    }

    #[test]
    fn one_that_cannot_be_written_fails_alone() {
        let case = Case::new(|| Ok(()));
        fs::write(case.root.path().join("inputs"), "in the way").unwrap();
        let bad = case.wish("inputs/a");
        let good = case.wish_many();
        case.writing.turn().unwrap();
        outcome(bad).unwrap_err();
        good.into_iter().for_each(|told| outcome(told).unwrap());
    }

    #[test]
    fn none_is_durable_where_the_file_system_fails() {
        let case = Case::new(|| Err(io::Error::other("the disk is gone")));
        let told = case.wish_many();
        case.writing.turn().unwrap();
        for told in told {
            let error = outcome(told).unwrap_err().to_string();
            assert!(error.contains("the disk is gone"), "{error}");
        }
    }

    #[test]
    fn a_file_system_that_takes_long_is_not_asked_again_for_a_while() {
        let mut case = Case::new(|| Ok(()));
        case.writing.long = Duration::ZERO;
        let told = case.wish_many();
        case.writing.turn().unwrap();
        told.into_iter().for_each(|told| outcome(told).unwrap());
        for told in case.wish_many() {
            case.writing.turn().unwrap();
            outcome(told).unwrap();
        }
        assert_eq!(case.syncs(), 1);
        *case.writing.one_by_one_until.lock() = Some(Instant::now());
        let _told = case.wish_many();
        case.writing.turn().unwrap();
        assert_eq!(case.syncs(), 2);
    }

    #[test]
    fn where_all_threads_hang_another_one_is_started() {
        let case = Case::new(|| Ok(()));
        let writing = Arc::new(case.writing);
        let long_ago = Instant::now().checked_sub(HANG).unwrap();
        *writing.taken.lock() = long_ago;
        Writing::help(&writing);
        assert_eq!(writing.threads.load(Ordering::Relaxed), 0, "nothing waits");
        writing.waiting.store(1, Ordering::Relaxed);
        for _ in 0..2 {
            Writing::help(&writing);
            assert_eq!(
                writing.threads.load(Ordering::Relaxed),
                1,
                "it has its time"
            );
        }
        writing.threads.store(MOST_THREADS, Ordering::Relaxed);
        *writing.taken.lock() = long_ago;
        Writing::help(&writing);
        assert_eq!(writing.threads.load(Ordering::Relaxed), MOST_THREADS);
    }

    #[tokio::test]
    async fn writes_of_many_callers_are_whole() {
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
