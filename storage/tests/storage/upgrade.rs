//! A data directory as the version before there was a journal wrote it, made by that version: it opens, its books add up, and it
//! can be exported.
//!
//! `fixtures/format_1` holds its files as they were.

use crate::support::{ACCOUNT, key, no_failure};
use std::convert::Infallible;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::audit::audit;
use tintype_storage::domain::delivery::DeliveryState;
use tintype_storage::domain::job::{FailureKind, JobState};
use tintype_storage::engine::commit_and_wait;
use tintype_storage::engine::memory::MemoryEngine;
use tintype_storage::engine::sled::{SledEngine, SledOptions};
use tintype_storage::export::{load, write};
use tintype_storage::store::{Part, Store};

fn copy_of_fixture() -> tempfile::TempDir {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/storage/fixtures/format_1");
    let directory = tempfile::tempdir().expect("directory");
    for entry in fs::read_dir(from).expect("the fixture") {
        let entry = entry.expect("an entry");
        fs::copy(entry.path(), directory.path().join(entry.file_name())).expect("copy");
    }
    directory
}

fn open(directory: &Path) -> Store {
    let options = SledOptions {
        lock_timeout: Duration::from_secs(60),
        ..SledOptions::new(no_failure())
    };
    let engine = SledEngine::open(directory, options).expect("open");
    Store::new(Arc::new(engine))
}

/// What that version had written.
fn holds_what_was_written(store: &Store) {
    let account = store.account(ACCOUNT).expect("read").expect("the account");
    let books = account.books;
    let figures = [books.balance, books.reserved].map(|it| it.to_string());
    assert_eq!(figures, ["99.961", "3.75"]);
    let jobs = store
        .jobs_of(ACCOUNT, Part::All, None, None, 10)
        .expect("jobs");
    let words: Vec<&str> = jobs.iter().map(|job| job.state.word()).collect();
    assert_eq!(words, ["failed", "failed", "done", "processing", "queued"]);
    let kinds = jobs.iter().filter_map(|job| match &job.state {
        JobState::Failed { kind, .. } => Some(*kind),
        _ => None,
    });
    let kinds: Vec<FailureKind> = kinds.collect();
    assert_eq!(kinds, [FailureKind::Canceled, FailureKind::Unrecorded]);
    assert!(store.pause().expect("read").tiers[0]);
    let spent = store.key_spending(key(1)).expect("read").total;
    assert_eq!(spent.to_string(), "0.039");
    let deliveries = store.deliveries_of(ACCOUNT, 10, None).expect("read").items;
    assert_eq!(deliveries.len(), 3);
    let tried = deliveries.iter().find(|it| it.attempts == 1).expect("one");
    assert!(matches!(
        tried.state,
        DeliveryState::Pending { failures: 1, .. }
    ));
    let attempts = store.attempts(tried.id).expect("read");
    assert_eq!(attempts[0].status_code, Some(503));
    let faults = audit(store, |_| {}).expect("audit").faults;
    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn a_data_directory_of_the_first_format_opens_adds_up_and_is_exported() {
    let directory = copy_of_fixture();
    let store = open(directory.path());
    holds_what_was_written(&store);
    // The service does this at its start, for a store that had no tallies.
    let writes = store.missing_tallies().expect("tallies");
    commit_and_wait(&**store.engine(), writes).expect("commit");
    holds_what_was_written(&store);
    store.engine().close();
    drop(store);
    let store = open(directory.path());
    holds_what_was_written(&store);

    let mut text = Vec::new();
    let cut = Arc::clone(store.engine()).cut().expect("a cut");
    write(cut, |block| {
        text.extend(block);
        Ok::<_, Infallible>(())
    })
    .expect("an export");
    let copy = MemoryEngine::new();
    load(&copy, &text[..], |_| {}).expect("imported");
    holds_what_was_written(&Store::new(Arc::new(copy)));
    store.engine().close();
}
