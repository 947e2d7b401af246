//! Bulk work waits until sled catches up.

use crate::support::no_failure;
use std::future::Future as _;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;
use tintype_storage::engine::sled::{FlushPolicy, SledEngine, SledOptions};
use tintype_storage::engine::{Engine as _, MAX_VALUE_BYTES, commit_and_wait};

/// Values per commit, which makes a mebibyte.
const VALUES: u8 = 64;

#[test]
fn bulk_work_waits_until_sled_has_caught_up() {
    let directory = tempfile::tempdir().expect("directory");
    let options = SledOptions {
        flush: FlushPolicy {
            bytes: usize::MAX,
            after: Duration::from_secs(3_600),
        },
        ..SledOptions::new(no_failure())
    };
    let engine = SledEngine::open(directory.path(), options).expect("open");
    let mut context = Context::from_waker(Waker::noop());
    let mut has_room = || pin!(engine.room_for_bulk()).poll(&mut context).is_ready();
    for number in 0..32_u8 {
        assert!(has_room(), "{number} MiB are no backlog");
        let writes =
            (0..VALUES).map(|it| (vec![b'a', number, it], Some(vec![it; MAX_VALUE_BYTES])));
        commit_and_wait(&engine, writes.collect()).expect("a commit");
    }
    assert!(!has_room());
    // Flushes everything.
    engine.close();
    assert!(has_room());
}
