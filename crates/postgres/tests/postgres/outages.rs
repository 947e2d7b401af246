//! Broken connections and crashed servers: each decision is made once, and its outcome is known.

use crate::support::{get, options, put};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use tintype_postgres::testing::Server;
use tintype_postgres::testing::proxy::{CommitFault, Proxy};
use tintype_postgres::{PostgresEngine, PostgresOptions};
use tintype_storage::engine::{Engine, EngineError, ReadResults, RoundStep, commit_and_wait};
use tintype_storage::testing::rounds::{self, Outcome, round_of};

/// Increments a number.
pub fn increment(engine: &Arc<PostgresEngine>, key: &'static str) -> Receiver<Outcome> {
    let next = move |reads: &ReadResults| {
        RoundStep::Write(vec![rounds::put(key, rounds::number(reads, key) + 1)])
    };
    round_of(&[key], next).start(engine)
}

fn open(options: PostgresOptions) -> Arc<PostgresEngine> {
    Arc::new(PostgresEngine::open(options).expect("an engine"))
}

#[test]
fn server_crashes_neither_lose_nor_repeat_commits() {
    const KEYS: [&str; 4] = ["a1", "a2", "a3", "a4"];
    let Some(server) = Server::start() else {
        return;
    };
    let database = server.database();
    let engine = open(options(&database.url()));
    let is_over = AtomicBool::new(false);
    let made = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for key in KEYS {
            let (engine, is_over, made) = (&engine, &is_over, &made);
            scope.spawn(move || {
                while !is_over.load(Ordering::SeqCst) {
                    let outcomes: Vec<_> = (0..5).map(|_| increment(engine, key)).collect();
                    for outcome in outcomes {
                        outcome.recv().expect("an outcome").expect("a commit");
                        made.fetch_add(1, Ordering::SeqCst);
                    }
                }
            });
        }
        for _ in 0..4 {
            let before = made.load(Ordering::SeqCst);
            while made.load(Ordering::SeqCst) < before + 100 {
                std::thread::yield_now();
            }
            server.crash();
        }
        is_over.store(true, Ordering::SeqCst);
    });
    let numbers = KEYS.map(|key| {
        get(&*engine, key)
            .expect("a value")
            .parse::<u32>()
            .expect("a number")
    });
    assert_eq!(numbers.iter().sum::<u32>(), made.load(Ordering::SeqCst));
}

#[test]
fn a_commit_whose_response_is_lost_is_applied_exactly_once() {
    let Some(server) = Server::start() else {
        return;
    };
    let database = server.database();
    let proxy = Proxy::start(database.port());
    let engine = open(options(&proxy.url(&database.url())));
    let mut expected = 0;
    let faults = [CommitFault::CutBefore, CommitFault::CutAfter];
    for fault in faults.map(Some).into_iter().chain([None]).cycle().take(24) {
        proxy.fault_commits(fault);
        increment(&engine, "a1")
            .recv()
            .expect("an outcome")
            .expect("a commit");
        expected += 1;
        assert_eq!(get(&*engine, "a1"), Some(expected.to_string()), "{fault:?}");
        assert_eq!(proxy.faults_left(), 0, "the cut was made");
    }
}

#[test]
fn a_commit_whose_transaction_did_not_begin_is_still_one_transaction() {
    let Some(server) = Server::start() else {
        return;
    };
    let database = server.database();
    let proxy = Proxy::start(database.port());
    let engine = open(PostgresOptions {
        // A node sends no heartbeats that would begin transactions.
        node: Some(
            "00000000-0000-0000-0000-000000000001"
                .parse()
                .expect("an id"),
        ),
        ..options(&proxy.url(&database.url()))
    });
    proxy.fail_begin();
    commit_and_wait(&*engine, vec![put("a1", "1"), put("j1", "1")]).expect("a commit");
    assert!(!proxy.fails_begin(), "the BEGIN failed");
    for key in ["a1", "j1"] {
        assert_eq!(get(&*engine, key).as_deref(), Some("1"));
    }
    let writers = "SELECT xmin::text FROM tintype.account WHERE key = 'a1' \
         UNION SELECT xmin::text FROM tintype.live WHERE key = 'j1'";
    assert_eq!(server.query(&database.name, writers).len(), 1);
}

#[test]
fn an_engine_whose_confirmed_transactions_are_gone_stops() {
    let Some(server) = Server::start() else {
        return;
    };
    let database = server.database();
    let (failed, failures) = channel();
    let engine = open(PostgresOptions {
        // One writer.
        connections: 3,
        on_failure: Arc::new(move |error| {
            failed.send(error.to_string()).expect("the test listens")
        }),
        ..options(&database.url())
    });
    for value in ["1", "2"] {
        commit_and_wait(&*engine, vec![put("a1", value)]).expect("a commit");
    }
    // As after a failover to a standby that has only the first one.
    let lose = "UPDATE tintype.account SET value = '\\x0000000000000001' WHERE substring(key FROM 2 FOR 5) = 'mark '; \
         UPDATE tintype.account SET value = '1' WHERE key = 'a1'";
    server.execute(&database.name, lose);
    let refused = commit_and_wait(&*engine, vec![put("a1", "3")]);
    assert!(refused.is_err(), "{refused:?}");
    let failure = failures.recv().expect("a failure");
    let expected = "the database has lost committed transactions";
    assert!(failure.contains(expected), "{failure}");
    drop(engine);
    let engine = open(options(&database.url()));
    assert_eq!(get(&*engine, "a1").as_deref(), Some("1"));
}

#[test]
fn a_commit_waits_for_a_row_locked_by_another_session() {
    let Some(server) = Server::start() else {
        return;
    };
    let database = server.database();
    let engine = open(options(&database.url()));
    commit_and_wait(&*engine, vec![put("a1", "1"), put("a2", "1")]).expect("a commit");
    let name = database.name.clone();
    std::thread::scope(|scope| {
        let server = &server;
        let holder = scope.spawn(move || {
            let hold = "BEGIN; UPDATE tintype.account SET value = '10' WHERE key = 'a1'; SELECT pg_sleep(1); COMMIT";
            server.execute(&name, hold);
        });
        let is_held = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
        while server.query("postgres", is_held).is_empty() {}
        let (held, free) = (increment(&engine, "a1"), increment(&engine, "a2"));
        free.recv()
            .expect("an outcome")
            .expect("not kept by the other round");
        held.recv().expect("an outcome").expect("a commit");
        holder.join().expect("no panic");
    });
    assert_eq!(get(&*engine, "a1").as_deref(), Some("11"));
}

#[test]
fn a_row_that_another_session_locks_for_long_is_no_outage() {
    let Some(server) = Server::start() else {
        return;
    };
    let database = server.database();
    let engine = open(options(&database.url()));
    commit_and_wait(&*engine, vec![put("a1", "1")]).expect("a commit");
    let name = &database.name;
    std::thread::scope(|scope| {
        let holder = scope.spawn(|| {
            let hold = "DO $$ BEGIN UPDATE tintype.account SET value = '10' WHERE key = 'a1'; \
                 WHILE NOT EXISTS (SELECT FROM tintype.rest WHERE key = 'release') LOOP PERFORM pg_sleep(0.01); END LOOP; END $$";
            server.execute(name, hold);
        });
        let is_held = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
        while server.query("postgres", is_held).is_empty() {}
        let outcome = increment(&engine, "a1");
        let waiting = || {
            let waiting = "SELECT query_start FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
            server.query("postgres", waiting)
        };
        let mut first = waiting();
        while first.is_empty() {
            first = waiting();
        }
        // The database ends the first wait, and the engine waits again.
        let mut second = Vec::new();
        while second.is_empty() || second == first {
            second = waiting();
        }
        let outage = engine.outage();
        let release = "INSERT INTO tintype.rest VALUES ('release', '')";
        server.execute(name, release);
        outcome.recv().expect("an outcome").expect("a commit");
        holder.join().expect("no panic");
        assert_eq!(outage, None, "other records can be read");
    });
    assert_eq!(get(&*engine, "a1").as_deref(), Some("11"));
}

#[test]
fn a_database_that_stays_silent_is_in_an_outage_before_its_requests_fail() {
    let Some(server) = Server::start() else {
        return;
    };
    let database = server.database();
    let proxy = Proxy::start(database.port());
    let engine = open(options(&proxy.url(&database.url())));
    commit_and_wait(&*engine, vec![put("a1", "0")]).expect("a commit");
    assert_eq!(engine.outage(), None);
    proxy.hold_answers();
    let began = Instant::now();
    let outcome = increment(&engine, "a1");
    while engine.outage().is_none() {
        std::thread::yield_now();
    }
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "calls give up then"
    );
    assert!(engine.outage() > Some(Duration::from_secs(1)));
    assert!(outcome.try_recv().is_err(), "its outcome is open");
    proxy.heal();
    outcome
        .recv()
        .expect("an outcome")
        .expect("it was waited for");
    while engine.outage().is_some() {
        std::thread::yield_now();
    }
    assert_eq!(get(&*engine, "a1").as_deref(), Some("1"), "exactly once");
}

#[test]
fn a_database_that_commits_nothing_is_in_an_outage_of_writes() {
    let Some(server) = Server::start() else {
        return;
    };
    let database = server.database();
    let engine = open(options(&database.url()));
    server.hold_commits();
    let mut made = 0;
    // The server takes over the setting a moment later.
    let outcome = loop {
        let outcome = increment(&engine, "a1");
        match outcome.recv_timeout(Duration::from_secs(1)) {
            Ok(outcome) => outcome.expect("a commit"),
            Err(_) => break outcome,
        }
        made += 1;
    };
    while engine.write_outage().is_none() {
        let value = get(&*engine, "a1").unwrap_or("0".into());
        assert_eq!(value, made.to_string(), "reads go on");
    }
    assert_eq!(engine.outage(), None);
    server.release_commits();
    outcome
        .recv()
        .expect("an outcome")
        .expect("it was waited for");
    while engine.write_outage().is_some() {
        std::thread::yield_now();
    }
    let value = get(&*engine, "a1");
    assert_eq!(value, Some((made + 1).to_string()), "exactly once");
}

#[test]
fn a_commit_that_a_crash_interrupts_still_waits_for_the_synchronous_standby() {
    let Some(server) = Server::start() else {
        return;
    };
    let database = server.database();
    let engine = open(options(&database.url()));
    server.hold_commits();
    let waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    let (mut made, mut outcome) = (0, increment(&engine, "a1"));
    // The server takes over the setting a moment later.
    while server.query("postgres", waits).is_empty() {
        if let Ok(made_before) = outcome.try_recv() {
            made_before.expect("a commit");
            (made, outcome) = (made + 1, increment(&engine, "a1"));
        }
    }
    // The server recovers the commit from its log.
    server.crash();
    while server.query("postgres", waits).is_empty() {
        assert!(outcome.try_recv().is_err(), "no standby has it");
    }
    assert_eq!(get(&*engine, "a1"), Some((made + 1).to_string()));
    server.release_commits();
    outcome
        .recv()
        .expect("an outcome")
        .expect("it was waited for");
    assert_eq!(get(&*engine, "a1"), Some((made + 1).to_string()));
}

#[test]
fn a_short_outage_is_survived_and_a_long_outage_stops_the_engine() {
    let Some(server) = Server::start() else {
        return;
    };
    let database = server.database();
    let (failed, failures) = channel();
    let engine = open(PostgresOptions {
        outage: Duration::from_secs(3),
        on_failure: Arc::new(move |error| {
            failed.send(error.to_string()).expect("the test listens")
        }),
        ..options(&database.url())
    });
    server.stop();
    let outcome = increment(&engine, "a1");
    server.start_again();
    outcome
        .recv()
        .expect("an outcome")
        .expect("it was waited for");
    server.stop();
    let refused = increment(&engine, "a1").recv().expect("an outcome");
    assert!(
        matches!(refused, Err(EngineError::Failed(_))),
        "{refused:?}"
    );
    let failure = failures.recv().expect("a failure");
    assert!(failure.contains("outage_seconds"), "{failure}");
    let read = engine.get(b"a1").wait();
    assert!(read.is_err(), "reads do not hang");
    drop(engine);
    server.start_again();
}
