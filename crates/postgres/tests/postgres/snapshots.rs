//! Point-in-time reads.

use crate::support::{error, get, open, options, put};
use std::sync::Arc;
use tintype_postgres::PostgresEngine;
use tintype_postgres::testing::server;
use tintype_storage::engine::{Engine, EngineError, Snapshot, SnapshotError, commit_and_wait};

fn rest(snapshot: &mut dyn Snapshot) -> Vec<String> {
    let mut keys = Vec::new();
    loop {
        let pairs = snapshot.next(2).expect("a page");
        if pairs.is_empty() {
            return keys;
        }
        keys.extend(
            pairs
                .into_iter()
                .map(|(key, _)| String::from_utf8(key).expect("text")),
        );
    }
}

#[test]
fn a_snapshot_has_all_tables_in_order_and_nothing_of_later_commits() {
    let Some(server) = server() else { return };
    let database = server.database();
    let engine = open(&database);
    let keys = ["A1", "P1", "a1", "a2", "a3", "e1", "i1", "l1", "l2", "z1"];
    let writes = keys.iter().rev().map(|key| put(key, "1"));
    commit_and_wait(&*engine, writes.collect()).expect("a commit");
    let mut snapshot = Arc::clone(&engine).snapshot().expect("a snapshot");
    let other = Arc::clone(&engine).snapshot().err().expect("one at a time");
    assert!(matches!(other, SnapshotError::UnderWay), "{other}");
    let later = vec![put("a4", "1"), (b"l1".to_vec(), None)];
    commit_and_wait(&*engine, later).expect("a commit");
    assert_eq!(rest(&mut *snapshot), keys);
    drop(snapshot);
    let mut next = Arc::clone(&engine).snapshot().expect("a snapshot");
    assert_eq!(rest(&mut *next).len(), keys.len());
}

#[test]
fn a_read_only_engine_shows_one_moment_of_a_database_in_use_and_changes_nothing() {
    let Some(server) = server() else { return };
    let database = server.database();
    let engine = open(&database);
    commit_and_wait(&*engine, vec![put("a", "1")]).expect("a commit");
    let look = PostgresEngine::open_read_only(options(&database.url())).expect("a look");
    commit_and_wait(&*engine, vec![put("a", "2")]).expect("a commit");
    assert_eq!(get(&look, "a").as_deref(), Some("1"));
    let refused = commit_and_wait(&look, vec![put("a", "3")]);
    assert!(matches!(refused, Err(EngineError::Stopped)), "{refused:?}");
    assert_eq!(get(&*engine, "a").as_deref(), Some("2"));
    drop(error(PostgresEngine::open(options(&database.url()))));
}

#[test]
fn a_task_of_tokio_may_wait_for_more_reads_than_its_budget_allows() {
    let Some(server) = server() else { return };
    let database = server.database();
    let engine = open(&database);
    let writes = (0..400).map(|at| put(&format!("a{at}"), "1"));
    commit_and_wait(&*engine, writes.collect()).expect("a commit");
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime").block_on(async {
        for at in 0..400 {
            assert_eq!(get(&*engine, &format!("a{at}")).as_deref(), Some("1"));
        }
        let mut snapshot = Arc::clone(&engine).snapshot().expect("a snapshot");
        assert_eq!(rest(&mut *snapshot).len(), 400);
    });
}
