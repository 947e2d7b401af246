//! A transaction-pooling pooler.

use crate::support::{get, options, put, refusal};
use std::collections::BTreeSet;
use std::sync::Arc;
use tintype_postgres::PostgresEngine;
use tintype_postgres::testing::{Database, has_pooler, server};
use tintype_storage::engine::{Direction, Engine, KeyRange, commit_and_wait};

fn open(database: &Database<'_>) -> Arc<PostgresEngine> {
    Arc::new(PostgresEngine::open(options(&database.pooled_url())).expect("an engine"))
}

/// What other clients of the pooler find on its connections.
fn found(database: &Database<'_>, query: &str) -> BTreeSet<String> {
    let all = (0..40).flat_map(|_| database.server.query_pooled(&database.name, query));
    all.collect()
}

#[test]
fn a_pooler_that_the_url_does_not_name_is_refused() {
    let Some(server) = server().filter(|_| has_pooler()) else {
        return;
    };
    let database = server.database();
    let lax = server.lax_pooler();
    for pooler in [server.pooler(), &lax] {
        let url = pooler.url(&database.name);
        let refused = refusal(&url);
        assert!(refused.contains("add `pooler=1` to the URL"), "{refused}");
        drop(PostgresEngine::open(options(&format!("{url}&pooler=1"))).expect("an engine"));
    }
}

#[test]
fn pooled_connections_are_returned_without_session_state() {
    let Some(server) = server().filter(|_| has_pooler()) else {
        return;
    };
    let database = server.database();
    let engine = open(&database);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let engine = &engine;
            scope.spawn(move || {
                for number in 0..20 {
                    let key = format!("a{thread}-{number}");
                    commit_and_wait(&**engine, vec![put(&key, "1")]).expect("a commit");
                    assert_eq!(get(&**engine, &key).as_deref(), Some("1"));
                }
            });
        }
    });
    let all = KeyRange::prefix(b"a");
    let pairs = engine.scan(&all, Direction::Rising, 1_000).wait();
    assert_eq!(pairs.expect("a read").len(), 160);
    for (setting, value) in [
        ("enable_seqscan", "on"),
        ("lock_timeout", "0"),
        ("synchronous_commit", "on"),
        ("search_path", "\"$user\", public"),
        ("idle_in_transaction_session_timeout", "0"),
    ] {
        let left = found(&database, &format!("SELECT current_setting('{setting}')"));
        assert_eq!(left, BTreeSet::from([value.to_owned()]), "{setting}");
    }
    let prepared = found(&database, "SELECT count(*) FROM pg_prepared_statements");
    assert_eq!(prepared, BTreeSet::from(["0".to_owned()]));
    let others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
    let connections: u32 = server.query(&database.name, others)[0]
        .parse()
        .expect("a number");
    assert!(connections <= 5, "the engine's 8 share {connections}");
}
