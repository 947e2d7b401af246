//! Closing: queued commits are written, later ones are refused, and nothing waits forever.

use crate::sled_durable::Gate;
use crate::support::no_failure;
use std::sync::Arc;
use tintype_storage::engine::sled::{SledEngine, SledOptions};
use tintype_storage::engine::{Commit, Engine, EngineError, commit_and_wait, submit_waiting};

#[test]
fn closing_writes_submitted_commits() {
    let directory = tempfile::tempdir().expect("directory");
    let open = || SledEngine::open(directory.path(), SledOptions::new(no_failure())).expect("open");
    let engine = open();
    let answers: Vec<_> = (0..1_000u32)
        .map(|number| {
            submit_waiting(
                &engine,
                vec![(number.to_be_bytes().to_vec(), Some(vec![1; 100]))],
            )
        })
        .collect();
    engine.close();
    for answer in answers {
        answer
            .try_recv()
            .expect("answered by then")
            .expect("commit");
    }
    drop(engine);
    let engine = open();
    for number in 0..1_000u32 {
        assert!(
            engine
                .get(&number.to_be_bytes())
                .wait()
                .expect("get")
                .is_some()
        );
    }
}

#[test]
fn closing_waits_for_the_sync_in_flight() {
    let (_directory, engine, gate, _guard) = Gate::engine();
    gate.close();
    let answer = submit_waiting(&engine, vec![(b"a".to_vec(), Some(vec![]))]);
    gate.wait_for_arrival(1);
    std::thread::scope(|scope| {
        let closing = scope.spawn(|| engine.close());
        assert!(matches!(wait_until_refused(&engine), EngineError::Stopped));
        assert!(!closing.is_finished() && answer.try_recv().is_err());
        gate.open();
        closing.join().expect("close");
    });
    answer
        .try_recv()
        .expect("answered by then")
        .expect("commit");
}

/// Submits until a commit is refused at once: then the engine is closing.
fn wait_until_refused(engine: &SledEngine) -> EngineError {
    loop {
        let answer = submit_waiting(engine, vec![(b"later".to_vec(), Some(vec![]))]);
        if let Ok(outcome) = answer.try_recv() {
            return outcome.expect_err("the gate is closed");
        }
        std::thread::yield_now();
    }
}

#[test]
fn the_last_owner_may_be_a_callback() {
    let directory = tempfile::tempdir().expect("directory");
    let options = SledOptions::new(no_failure());
    let engine = Arc::new(SledEngine::open(directory.path(), options).expect("open"));
    let (sender, receiver) = crossbeam_channel::bounded(1);
    let (owner, hold) = (Arc::clone(&engine), crossbeam_channel::bounded::<()>(0));
    let released = hold.1;
    engine.submit(Commit {
        writes: vec![(b"a".to_vec(), Some(vec![]))],
        done: Box::new(move |outcome| {
            // Ends when the test drops its share.
            let _ = released.recv();
            drop(owner);
            sender.send(outcome).expect("the test listens");
        }),
    });
    drop(engine);
    drop(hold.0);
    receiver.recv().expect("an answer").expect("commit");
    let options = SledOptions::new(no_failure());
    let engine = SledEngine::open(directory.path(), options).expect("the directory is free again");
    commit_and_wait(&engine, vec![(b"b".to_vec(), Some(vec![]))]).expect("commit");
}
