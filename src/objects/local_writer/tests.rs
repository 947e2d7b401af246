//! Tests of the group commit of local writes.

use super::*;
use futures_util::future::join_all;
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
fn a_group_creates_new_results_and_replaces_existing_ones() {
    let case = Case::new(|| Ok(()));
    let results = case.root.path().join("results");
    fs::create_dir(&results).unwrap();
    fs::write(
        results.join("0"),
        "an incomplete image, longer than the new one",
    )
    .unwrap();
    let outcomes = case.request_many();
    case.writing.serve_next().unwrap();
    outcomes
        .into_iter()
        .for_each(|receiver| outcome(receiver).unwrap());
    for number in 0..MIN_GROUP {
        let key = format!("results/{number}");
        let stored = fs::read_to_string(case.root.path().join(&key)).unwrap();
        assert_eq!(stored, key);
    }
    assert_eq!(fs::read_dir(&results).unwrap().count(), MIN_GROUP);
}

#[test]
fn a_file_is_created_once() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("a");
    create(&path, b"x").unwrap().unwrap();
    assert!(create(&path, b"y").is_none(), "it exists");
    assert_eq!(fs::read(&path).unwrap(), b"x");
    assert!(create(&root.path().join("missing/a"), b"x").is_none());
}

/// A file that is open for reading only cannot be written.
#[test]
fn an_incomplete_file_is_removed_unless_another_has_replaced_it() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("a");
    fs::write(&path, b"part").unwrap();
    let file = File::open(&path).unwrap();
    fill(file, &path, b"x").unwrap_err();
    assert!(!path.exists());
    fs::write(&path, b"part").unwrap();
    let file = File::open(&path).unwrap();
    let complete = root.path().join("complete");
    fs::write(&complete, b"complete").unwrap();
    fs::rename(&complete, &path).unwrap();
    fill(file, &path, b"x").unwrap_err();
    assert_eq!(fs::read(&path).unwrap(), b"complete");
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
