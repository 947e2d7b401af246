//! Exclusive claims: one process at a time writes to a database.

use crate::support::{get, open, options, put, refusal};
use std::sync::Arc;
use std::sync::mpsc::channel;
use tintype_postgres::PostgresEngine;
use tintype_postgres::testing::server;
use tintype_storage::engine::{EngineError, commit_and_wait};

#[test]
fn a_second_process_is_rejected_while_one_runs_and_accepted_afterwards() {
    let Some(server) = server() else { return };
    let database = server.database();
    let engine = open(&database);
    let refused = refusal(&database.url());
    let expected = format!("it is in use by process {}", std::process::id());
    assert!(refused.contains(&expected), "{refused}");
    commit_and_wait(&*engine, vec![put("a", "1")]).expect("the first one is not disturbed");
    drop(engine);
    assert_eq!(get(&*open(&database), "a").as_deref(), Some("1"));
}

#[test]
fn the_claim_of_a_process_that_died_is_taken_over_after_a_wait() {
    let Some(server) = server() else { return };
    let database = server.database();
    drop(open(&database));
    let claim = "INSERT INTO tintype.account VALUES ('\\x00'::bytea || 'claim'::bytea, sha224('x'::bytea) || 'process 1'::bytea)";
    server.execute(&database.name, claim);
    let engine = open(&database);
    commit_and_wait(&*engine, vec![put("a", "1")]).expect("a commit");
}

#[test]
fn a_process_that_lost_its_claim_commits_nothing_more_and_reports_it() {
    let Some(server) = server() else { return };
    let database = server.database();
    let (failed, failures) = channel();
    let mut options = options(&database.url());
    options.on_failure =
        Arc::new(move |error| failed.send(error.to_string()).expect("the test listens"));
    let engine = PostgresEngine::open(options).expect("an engine");
    commit_and_wait(&engine, vec![put("a", "1")]).expect("a commit");
    // As another process does that counts this one as dead.
    let take = "DELETE FROM tintype.account WHERE key >= '\\x00' AND key < '\\x01' AND key <> '\\x00'::bytea || 'format'::bytea";
    server.execute(&database.name, take);
    let refused = commit_and_wait(&engine, vec![put("a", "2")]);
    assert!(
        matches!(refused, Err(EngineError::Failed(_) | EngineError::Stopped)),
        "{refused:?}"
    );
    let failure = failures.recv().expect("a failure");
    assert!(
        failure.contains("another process has taken over from this one"),
        "{failure}"
    );
    drop(engine);
    assert_eq!(get(&*open(&database), "a").as_deref(), Some("1"));
}
