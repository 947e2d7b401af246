//! A failing or hanging disk: reported once, final, and nothing waits forever.

use crate::children::{Running, child_under};
use crate::sled_durable::{Gate, OpensGate};
use crossbeam_channel::{Receiver, Sender};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tintype_storage::engine::sled::{SledEngine, SledOptions, SyncStep};
use tintype_storage::engine::{
    Commit, Direction, Engine, EngineError, Key, KeyRange, OnFailure, Value, commit_and_wait,
    submit_waiting,
};
use tintype_storage::testing::failing::FailingEngine;
use tintype_storage::testing::memory::MemoryEngine;

fn put(key: &str) -> Vec<(Key, Option<Value>)> {
    vec![(key.into(), Some(vec![1]))]
}

fn listener() -> (OnFailure, Receiver<String>) {
    let (sender, receiver): (Sender<String>, _) = crossbeam_channel::unbounded();
    let tell = move |error: &EngineError| sender.send(error.to_string()).expect("the test listens");
    (Arc::new(tell), receiver)
}

fn open(directory: &Path, on_failure: OnFailure, timeout: Duration, sync: SyncStep) -> SledEngine {
    let mut options = SledOptions::new(on_failure);
    options.commit_timeout = timeout;
    SledEngine::open_with_sync(directory, options, sync).expect("open")
}

const LONG: Duration = Duration::from_secs(600);

/// Fails only the second sync.
fn fails_second() -> SyncStep {
    let count = AtomicU32::new(0);
    Box::new(move |file| match count.fetch_add(1, Ordering::SeqCst) {
        1 => Err(io::Error::from_raw_os_error(5)),
        _ => file.sync_data(),
    })
}

#[test]
fn hostile_75_a_sync_that_fails_once_stops_the_engine() {
    let directory = tempfile::tempdir().expect("directory");
    let (on_failure, failures) = listener();
    let engine = open(directory.path(), on_failure, LONG, fails_second());
    commit_and_wait(&engine, put("a")).expect("commit");
    let failed = commit_and_wait(&engine, put("b"));
    assert!(
        matches!(&failed, Err(EngineError::Failed(text)) if text.starts_with("fdatasync: ")),
        "{failed:?}"
    );
    for _ in 0..3 {
        let later = commit_and_wait(&engine, put("c"));
        assert!(matches!(
            later,
            Err(EngineError::Failed(_) | EngineError::Stopped)
        ));
    }
    // The failed commit may or may not be on the disk: it is not visible.
    assert_eq!(engine.get(b"a").wait().expect("get"), Some(vec![1]));
    assert_eq!(engine.get(b"b").wait().expect("get"), None);
    let pairs = engine
        .scan(&KeyRange::prefix(b""), Direction::Rising, 9)
        .wait();
    assert_eq!(pairs.expect("scan").len(), 1);
    let failure = failures.recv().expect("a failure");
    assert!(failure.contains("fdatasync"), "{failure}");
    engine.close();
    assert!(failures.try_recv().is_err(), "reported once");
    drop(engine);
    let (on_failure, _told) = listener();
    let engine = open(
        directory.path(),
        on_failure,
        LONG,
        Box::new(|file| file.sync_data()),
    );
    assert_eq!(engine.get(b"a").wait().expect("get"), Some(vec![1]));
    commit_and_wait(&engine, put("d")).expect("a restart recovers");
}

#[test]
fn commits_behind_a_failure_are_all_refused() {
    let directory = tempfile::tempdir().expect("directory");
    let (on_failure, failures) = listener();
    let gate = Arc::new(Gate::default());
    let at_gate = gate.sync();
    let sync: SyncStep = Box::new(move |file| {
        at_gate(file)?;
        Err(io::Error::other("the disk is gone"))
    });
    let engine = open(directory.path(), on_failure, LONG, sync);
    let _guard = OpensGate(Arc::clone(&gate));
    gate.close();
    let mut answers = vec![submit_waiting(&engine, put("a"))];
    gate.wait_for_arrival(1);
    answers.extend((0..600).map(|number| submit_waiting(&engine, put(&format!("{number}")))));
    gate.open();
    for answer in answers {
        let outcome = answer.recv().expect("an answer");
        assert!(
            matches!(outcome, Err(EngineError::Failed(_))),
            "{outcome:?}"
        );
    }
    assert_eq!(gate.arrived(), 1, "nothing is written after a failure");
    assert!(failures.recv().is_ok() && failures.try_recv().is_err());
    assert_eq!(engine.get(b"a").wait().expect("get"), None);
}

#[test]
fn hostile_77_a_sync_that_hangs_is_a_failure() {
    let directory = tempfile::tempdir().expect("directory");
    let (on_failure, failures) = listener();
    let gate = Arc::new(Gate::default());
    let timeout = Duration::from_millis(5);
    let engine = Arc::new(open(directory.path(), on_failure, timeout, gate.sync()));
    let _guard = OpensGate(Arc::clone(&gate));
    gate.close();
    let hanging = submit_waiting(&*engine, put("a"));
    gate.wait_for_arrival(1);
    let behind = submit_waiting(&*engine, put("b"));
    let text = failures.recv().expect("a failure");
    let start = "storage failed: the disk did not confirm a commit within 0.005 s; ";
    assert!(text.starts_with(start), "{text}");
    // Commits behind the hanging one are answered, though the thread still hangs.
    let outcome = behind.recv().expect("an answer");
    assert!(
        matches!(outcome, Err(EngineError::Failed(_) | EngineError::Stopped)),
        "{outcome:?}"
    );
    assert!(matches!(
        commit_and_wait(&*engine, put("c")),
        Err(EngineError::Stopped)
    ));
    assert_eq!(engine.get(b"a").wait().expect("get"), None);
    close_within_a_minute(&engine);
    assert!(hanging.try_recv().is_err(), "its outcome is not known yet");
    gate.open();
    // The hanging commit succeeded and reports it, but the engine has stopped.
    hanging.recv().expect("an answer").expect("commit");
    assert!(failures.try_recv().is_err(), "reported once");
    assert_eq!(gate.passed(), 1);
}

/// Bounds a close that might hang forever.
fn close_within_a_minute(engine: &Arc<SledEngine>) {
    let (sender, closed) = crossbeam_channel::bounded(1);
    let engine = Arc::clone(engine);
    std::thread::spawn(move || {
        engine.close();
        drop(engine);
        sender.send(())
    });
    closed
        .recv_timeout(Duration::from_secs(60))
        .expect("closing does not wait for a write that hangs");
}

#[test]
fn a_panic_below_is_a_failure_and_every_commit_is_answered() {
    let directory = tempfile::tempdir().expect("directory");
    let (on_failure, failures) = listener();
    let sync: SyncStep = Box::new(|_| panic!("a panic that the test wants"));
    let engine = open(directory.path(), on_failure, LONG, sync);
    let outcome = submit_waiting(&engine, put("a")).recv();
    assert!(matches!(outcome, Ok(Err(EngineError::Failed(_)))));
    assert!(failures.recv().expect("a failure").contains("panicked"));
    assert!(commit_and_wait(&engine, put("b")).is_err());
    engine.close();
    assert!(failures.try_recv().is_err());
}

#[test]
fn a_callback_that_panics_does_not_prevent_other_callbacks() {
    let (on_failure, failures) = listener();
    let directory = tempfile::tempdir().expect("directory");
    let gate = Arc::new(Gate::default());
    let engine = open(directory.path(), on_failure, LONG, gate.sync());
    let _guard = OpensGate(Arc::clone(&gate));
    gate.close();
    let first = submit_waiting(&engine, put("a"));
    gate.wait_for_arrival(1);
    engine.submit(Commit {
        writes: put("b"),
        done: Box::new(|_| panic!("a panic that the test wants")),
    });
    let last = submit_waiting(&engine, put("c"));
    gate.open();
    first.recv().expect("an answer").expect("commit");
    last.recv().expect("an answer").expect("commit");
    assert!(failures.recv().expect("a failure").contains("panicked"));
    assert!(commit_and_wait(&engine, put("d")).is_err());
    assert_eq!(engine.get(b"b").wait().expect("get"), Some(vec![1]));
}

#[test]
#[cfg(unix)]
fn hostile_73_a_full_disk_stops_the_engine_and_loses_no_acknowledged_commit() {
    // The shell limits files to about 4 MB; the system refuses larger writes as on a full disk.
    let setting = "trap '' XFSZ; ulimit -f 8000";
    let directory = tempfile::tempdir().expect("directory");
    let mut child = Running::start(child_under(setting, "fill", directory.path()), "open");
    let said: Vec<String> = child.words().collect();
    let report = said.join("\n");
    let count = |start: &str| said.iter().filter(|line| line.starts_with(start)).count();
    assert_eq!(count("on_failure: storage failed"), 1, "{report}");
    assert_eq!(count("refused: ") + count("no answer: "), 1, "{report}");
    assert_eq!(count("after: Err("), 1, "{report}");
    assert_eq!(count("closed"), 1, "{report}");
    let acknowledged: u32 = said
        .iter()
        .find_map(|line| line.strip_prefix("answered before: "))
        .and_then(|text| text.parse().ok())
        .expect("a count");
    assert!(acknowledged > 10, "{report}");
    drop(child);
    // With space again, the restart finds everything that was answered.
    let (on_failure, _told) = listener();
    let engine = open(
        directory.path(),
        on_failure,
        LONG,
        Box::new(|file| file.sync_data()),
    );
    for number in 0..acknowledged {
        let value = engine.get(&number.to_be_bytes()).wait().expect("get");
        assert_eq!(value, Some(vec![7; 9_000]), "{number} of {acknowledged}");
    }
    commit_and_wait(&engine, put("more")).expect("commit");
}

#[test]
fn the_faulty_engine_fails_as_a_real_one_does() {
    let (on_failure, failures) = listener();
    let inner = Arc::new(MemoryEngine::new());
    let engine = FailingEngine::new(inner, 2, on_failure);
    commit_and_wait(&engine, put("a")).expect("commit");
    commit_and_wait(&engine, put("b")).expect("commit");
    for _ in 0..3 {
        assert!(commit_and_wait(&engine, put("c")).is_err());
    }
    assert_eq!(engine.get(b"c").wait().expect("get"), None);
    assert_eq!(engine.get(b"b").wait().expect("get"), Some(vec![1]));
    assert!(
        failures.recv().is_ok() && failures.try_recv().is_err(),
        "reported once"
    );
}
