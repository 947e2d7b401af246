//! A start waits for a database that is temporarily unreachable, and for no other.

use crate::support::options;
use std::time::{Duration, Instant};
use tintype_postgres::testing::{Server, free_port, has_pooler, server};
use tintype_postgres::{PostgresOptions, wait_until_reachable};
use tintype_storage::engine::EngineError;

const LONG: Duration = Duration::from_secs(3_600);

fn wait(url: &str, limit: Duration) -> Result<(), EngineError> {
    let options = PostgresOptions {
        outage: limit,
        ..options(url)
    };
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(wait_until_reachable(&options))
}

/// The refusal after a wait of a few seconds.
fn refusal_after_wait(url: &str) -> String {
    let began = Instant::now();
    let refused = wait(url, Duration::from_secs(2)).expect_err("it is unreachable");
    assert!(began.elapsed() >= Duration::from_secs(1), "{refused}");
    refused.to_string()
}

/// The refusal of a start that would wait for an hour.
fn refusal_at_once(url: &str) -> String {
    wait(url, LONG).expect_err("it is refused").to_string()
}

#[test]
fn a_database_that_starts_later_is_waited_for() {
    let Some(server) = Server::start() else {
        return;
    };
    let url = server.url("postgres", "postgres");
    wait(&url, Duration::ZERO).expect("it runs");
    server.stop();
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| wait(&url, LONG));
        server.start_again();
        waits.join().expect("no panic").expect("it runs again");
    });
}

#[test]
fn a_standby_is_waited_for_until_it_is_promoted() {
    let Some(server) = Server::start() else {
        return;
    };
    server.make_standby();
    let url = format!(
        "postgres://postgres@127.0.0.1:{},127.0.0.1:{}/postgres",
        free_port(),
        server.port()
    );
    let refused = refusal_after_wait(&url);
    assert!(refused.contains("it is a standby"), "{refused}");
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| wait(&format!("{url}?target_session_attrs=read-write"), LONG));
        server.promote();
        waits.join().expect("no panic").expect("it takes writes");
    });
}

#[test]
fn the_wait_for_an_unreachable_database_ends_with_its_error() {
    let closed = refusal_after_wait(&format!("postgres://me@127.0.0.1:{}/x", free_port()));
    assert!(closed.contains("Connection refused"), "{closed}");
    let unresolved = refusal_after_wait("postgres://me@database.invalid/x");
    assert!(unresolved.contains("lookup address"), "{unresolved}");
    let no_socket = refusal_after_wait("postgres:///x?user=me&host=/nonexistent");
    assert!(no_socket.contains("No such file"), "{no_socket}");
}

#[test]
fn a_database_behind_a_pooler_is_waited_for() {
    let Some(server) = Server::start().filter(|_| has_pooler()) else {
        return;
    };
    let database = server.database();
    let url = database.pooled_url();
    server.stop();
    let silent = refusal_after_wait(&url);
    assert!(silent.contains("it does not answer"), "{silent}");
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| wait(&url, LONG));
        server.start_again();
        waits.join().expect("no panic").expect("it runs again");
    });
}

#[test]
fn a_database_without_a_free_connection_is_waited_for() {
    let Some(server) = server() else { return };
    let database = server.database();
    let name = &database.name;
    let limit = format!("CREATE ROLE weak_{name} LOGIN; ALTER DATABASE {name} CONNECTION LIMIT 0");
    server.execute("postgres", &limit);
    let url = server.url(&format!("weak_{name}"), name);
    let full = refusal_after_wait(&url);
    assert!(full.contains("too many connections"), "{full}");
    server.execute("postgres", &format!("DROP ROLE weak_{name}"));
}

#[test]
fn refusals_that_do_not_pass_are_reported_at_once() {
    let Some(server) = server() else { return };
    let missing = refusal_at_once(&server.url("postgres", "missing"));
    assert!(missing.contains("createdb missing"), "{missing}");
    let no_role = refusal_at_once(&server.url("missing", "postgres"));
    assert!(no_role.contains("does the role"), "{no_role}");
    let by_address = server.url("postgres", "postgres");
    let roots = server.certificate();
    let misnamed = refusal_at_once(&format!(
        "{by_address}?sslmode=verify-full&sslrootcert={}",
        roots.display()
    ));
    assert!(misnamed.contains("subjectAltName"), "{misnamed}");
    assert!(!misnamed.contains("is it running"), "{misnamed}");
}
