//! Several nodes on one database.

use crate::support::{error, get, options, put};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use tintype_postgres::testing::proxy::Proxy;
use tintype_postgres::testing::{Database, server};
use tintype_postgres::{PostgresEngine, PostgresOptions, ddl};
use tintype_storage::domain::ids::NodeId;
use tintype_storage::engine::{
    Direction, Engine, KeyRange, ReadRequest, ReadResults, RoundStep, commit_and_wait,
};
use tintype_storage::testing::rounds::{self, Outcome, round_of};

fn node(number: u128) -> NodeId {
    format!("00000000-0000-0000-0000-{number:012}")
        .parse()
        .expect("an id")
}

fn options_of(database: &Database<'_>, number: u128) -> PostgresOptions {
    PostgresOptions {
        node: Some(node(number)),
        ..options(&database.url())
    }
}

fn join(database: &Database<'_>, number: u128) -> Arc<PostgresEngine> {
    Arc::new(PostgresEngine::open(options_of(database, number)).expect("a node"))
}

const KEY: &str = "a number";

/// Increments the number under the key, and fences a node if asked to.
fn increment(engine: &Arc<PostgresEngine>, fences: Option<NodeId>) -> Receiver<Outcome> {
    let round = round_of(&[KEY], rounds::increment(&[KEY]));
    round.fencing(fences).start(engine)
}

/// Locks a key without a record and increments the number under another key. May stay in its decision until the test lets it go on.
fn increment_behind_lock(
    engine: &Arc<PostgresEngine>,
    mut pause: Option<(Sender<()>, Receiver<()>)>,
) -> Receiver<Outcome> {
    let mut increment = rounds::increment(&[KEY]);
    let decide = move |reads: &ReadResults| {
        if let Some((has_begun, may_end)) = pause.take() {
            has_begun.send(()).expect("the test listens");
            may_end.recv().expect("the test goes on");
        }
        increment(reads)
    };
    let round = round_of(&["a lock"], decide);
    round
        .reading(vec![ReadRequest::Get(KEY.into())])
        .start(engine)
}

#[test]
fn rounds_of_several_nodes_on_one_key_are_serialized() {
    let Some(server) = server() else { return };
    let database = server.database();
    let nodes = [1, 2, 3].map(|number| join(&database, number));
    commit_and_wait(&*nodes[0], vec![put("a number", "0")]).expect("a commit");
    let outcomes: Vec<_> = (0..60)
        .flat_map(|_| nodes.iter().map(|it| increment(it, None)))
        .collect();
    for outcome in outcomes {
        outcome.recv().expect("an outcome").expect("a commit");
    }
    assert_eq!(get(&*nodes[1], "a number").as_deref(), Some("180"));
}

#[test]
fn a_decision_in_progress_at_another_node_is_seen_until_it_ends() {
    let Some(server) = server() else { return };
    let database = server.database();
    let [one, other] = [1, 2].map(|number| join(&database, number));
    commit_and_wait(&*one, vec![put("a number", "0")]).expect("a commit");
    let ((has_begun, begun), (end, may_end)) = (channel(), channel());
    let decide = move |_: &ReadResults| {
        has_begun.send(()).expect("the test listens");
        may_end.recv().expect("the test goes on");
        RoundStep::Write(vec![put("another", "1")])
    };
    let outcome = round_of(&[KEY], decide).start(&one);
    begun.recv().expect("a decision");
    let look = || {
        let look = other.transactions().wait().expect("a read");
        look.expect("PostgreSQL numbers its transactions")
    };
    let first = look();
    assert!(look().oldest < first.newest);
    end.send(()).expect("the decision waits");
    outcome.recv().expect("an outcome").expect("a commit");
    // Other tests have short transactions on the same server.
    while look().oldest <= first.newest {
        std::thread::yield_now();
    }
}

#[test]
fn an_absent_key_is_locked_as_well() {
    let Some(server) = server() else { return };
    let database = server.database();
    let nodes = [1, 2, 3].map(|number| join(&database, number));
    for _ in 0..20 {
        let outcomes: Vec<_> = nodes.iter().map(|it| increment(it, None)).collect();
        for outcome in outcomes {
            outcome.recv().expect("an outcome").expect("a commit");
        }
        assert_eq!(get(&*nodes[0], "a number").as_deref(), Some("3"));
        commit_and_wait(&*nodes[1], vec![(KEY.into(), None)]).expect("a commit");
    }
    let all = ReadRequest::Scan(KeyRange::prefix(b"a n"), Direction::Rising, 10);
    let look = move |reads: &ReadResults| match reads.pairs(&all) {
        None => RoundStep::Read(vec![ReadRequest::Get(KEY.into()), all.clone()]),
        Some(pairs) => {
            assert!(pairs.is_empty(), "{pairs:?}");
            assert_eq!(reads.value(KEY.as_bytes()), Some(None));
            RoundStep::Write(vec![put("another", "1")])
        }
    };
    let round = round_of(&[KEY], look).reading(Vec::new());
    round.run(&nodes[2]).expect("a decision");
    assert_eq!(get(&*nodes[0], "a number"), None, "nothing is left of it");
}

#[test]
fn a_round_that_waited_for_an_absent_key_reads_what_was_committed_meanwhile() {
    let Some(server) = server() else { return };
    let database = server.database();
    let [one, other] = [1, 2].map(|number| join(&database, number));
    commit_and_wait(&*one, vec![put("a number", "1")]).expect("a commit");
    let ((has_begun, begun), (end, may_end)) = (channel(), channel());
    let first = increment_behind_lock(&one, Some((has_begun, may_end)));
    begun.recv().expect("a decision");
    let outcomes = [first, increment_behind_lock(&other, None)];
    let waits = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    // The database ends a decision that takes two seconds; then the other one is made first.
    let mut ended = Vec::new();
    while server.query(&database.name, waits).is_empty() && ended.is_empty() {
        ended.extend(outcomes.iter().flat_map(Receiver::try_iter));
    }
    end.send(()).expect("the decision waits");
    ended.extend(outcomes.iter().flatten());
    assert_eq!(ended.len(), 2);
    for outcome in ended {
        outcome.expect("a commit");
    }
    assert_eq!(get(&*one, "a number").as_deref(), Some("3"));
}

#[test]
fn nodes_take_over_from_a_single_process_that_died() {
    let Some(server) = server() else { return };
    let database = server.database();
    let proxy = Proxy::start(database.port());
    let (failed, failures) = channel();
    let alone = PostgresOptions {
        on_failure: Arc::new(move |error| {
            failed.send(error.to_string()).expect("the test listens")
        }),
        ..options(&proxy.url(&database.url()))
    };
    let alone = PostgresEngine::open(alone).expect("an engine");
    commit_and_wait(&alone, vec![put("a number", "1")]).expect("a commit");
    // Like a killed process, it releases no claim.
    proxy.sever();
    let nodes = std::thread::scope(|scope| {
        let database = &database;
        let nodes = [1, 2].map(|number| scope.spawn(move || join(database, number)));
        nodes.map(|node| node.join().expect("no panic"))
    });
    for node in &nodes {
        let outcome = increment(node, None).recv().expect("an outcome");
        outcome.expect("a commit");
    }
    proxy.heal();
    let failure = failures.recv().expect("a failure");
    assert!(
        failure.contains("another process has taken over"),
        "{failure}"
    );
    let refused = commit_and_wait(&alone, vec![put("a number", "2")]);
    assert!(refused.is_err(), "{refused:?}");
    assert_eq!(get(&*nodes[0], "a number").as_deref(), Some("3"));
}

#[test]
fn a_node_that_does_not_get_all_its_connections_is_refused_with_advice() {
    let Some(server) = server() else { return };
    let database = server.database();
    let name = &database.name;
    let role = format!(
        "{}CREATE ROLE few_{name} LOGIN CONNECTION LIMIT 8; GRANT USAGE ON SCHEMA tintype TO few_{name}; \
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA tintype TO few_{name}",
        ddl()
    );
    server.execute(name, &role);
    let options = |number| PostgresOptions {
        node: Some(node(number)),
        ..options(&server.url(&format!("few_{name}"), name))
    };
    let first = PostgresEngine::open(options(1)).expect("it gets its eight connections");
    let refused = error(PostgresEngine::open(options(2))).to_string();
    let advice = "too many connections for role";
    assert!(refused.contains(advice), "{refused}");
    assert!(refused.contains("`[storage] connections`"), "{refused}");
    commit_and_wait(&first, vec![put("a number", "1")]).expect("the first one is not disturbed");
    drop(first);
    let rights = format!("DROP OWNED BY few_{name}; DROP ROLE few_{name}");
    server.execute(name, &rights);
}

#[test]
fn a_single_process_takes_over_from_nodes_that_died() {
    let Some(server) = server() else { return };
    let database = server.database();
    // The node writes no more, like a killed process, and its marks stay.
    let silent = join(&database, 1);
    let alone = PostgresEngine::open(options(&database.url())).expect("no node writes");
    let refused = increment(&silent, None).recv().expect("an outcome");
    assert!(refused.is_err(), "{refused:?}");
    drop(alone);
}

#[test]
fn a_fenced_node_commits_nothing_more_and_reports_it() {
    let Some(server) = server() else { return };
    let database = server.database();
    let first = join(&database, 1);
    commit_and_wait(&*first, vec![put("a number", "0")]).expect("a commit");
    let (failed, failures) = channel();
    let second = PostgresOptions {
        on_failure: Arc::new(move |error| {
            failed.send(error.to_string()).expect("the test listens")
        }),
        ..options_of(&database, 2)
    };
    let second = Arc::new(PostgresEngine::open(second).expect("a node"));
    increment(&second, None)
        .recv()
        .expect("an outcome")
        .expect("a commit");
    increment(&first, Some(node(2)))
        .recv()
        .expect("an outcome")
        .expect("a commit");
    let refused = increment(&second, None).recv().expect("an outcome");
    assert!(refused.is_err(), "{refused:?}");
    let failure = failures.recv().expect("a failure");
    assert!(
        failure.contains("has taken over from this one"),
        "{failure}"
    );
    assert_eq!(get(&*first, "a number").as_deref(), Some("2"));
}

#[test]
fn nodes_and_a_single_process_exclude_each_other() {
    let Some(server) = server() else { return };
    let database = server.database();
    let shared = join(&database, 1);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // As a node's heartbeats do.
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let outcome = increment(&shared, None).recv().expect("an outcome");
                outcome.expect("a commit");
            }
        });
        let refused = error(PostgresEngine::open(options(&database.url()))).to_string();
        is_over.store(true, Ordering::Relaxed);
        assert!(refused.contains("several nodes use it"), "{refused}");
    });
    drop(shared);
    let alone = PostgresEngine::open(options(&database.url())).expect("no other process is there");
    let refused = error(PostgresEngine::open(options_of(&database, 2))).to_string();
    assert!(refused.contains("it is in use by process"), "{refused}");
    drop(alone);
    drop(join(&database, 3));
}
