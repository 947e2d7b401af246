//! A primary server and its standby, both named in the URL.

use crate::support::{get, options, put};
use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;
use tintype_postgres::PostgresEngine;
use tintype_postgres::testing::Server;
use tintype_postgres::testing::proxy::Proxy;
use tintype_storage::engine::{Engine as _, commit_and_wait};

#[test]
fn reads_of_a_service_wait_for_the_primary_while_the_standby_can_be_read() {
    let Some(primary) = Server::start() else {
        return;
    };
    let standby = primary.standby();
    let database = primary.database();
    let proxy = Proxy::start(primary.port());
    let url = format!(
        "postgres://postgres@127.0.0.1:{},127.0.0.1:{}/{}?sslmode=disable",
        proxy.port(),
        standby.port(),
        database.name
    );
    let engine = Arc::new(PostgresEngine::open(options(&url)).expect("an engine"));
    commit_and_wait(&*engine, vec![put("a", "1")]).expect("a commit");
    proxy.sever();
    let (sender, answer) = channel();
    std::thread::scope(|scope| {
        scope.spawn(|| sender.send(get(&*engine, "a")));
        // The connections have tried both hosts several times.
        while engine.outage() < Some(Duration::from_secs(1)) {
            std::thread::yield_now();
        }
        assert!(answer.try_recv().is_err(), "the standby answered");
        let on_standby = PostgresEngine::open_read_only(options(&url)).expect("it can be read");
        assert!(on_standby.get(b"a").wait().is_ok());
        proxy.heal();
        assert_eq!(answer.recv().expect("an answer").as_deref(), Some("1"));
    });
}

#[test]
fn a_host_that_accepts_a_connection_and_hangs_does_not_hide_the_other() {
    let Some(server) = Server::start() else {
        return;
    };
    let database = server.database();
    // As the system does for a server whose processes are stopped.
    let hung = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!(
        "postgres://postgres@127.0.0.1:{},127.0.0.1:{}/{}?sslmode=disable",
        hung.local_addr().expect("an address").port(),
        server.port(),
        database.name
    );
    let engine = Arc::new(PostgresEngine::open(options(&url)).expect("an engine"));
    commit_and_wait(&*engine, vec![put("a", "1")]).expect("a commit");
}

/// A host whose machine is gone: Linux drops further connections to a listener whose queue is full. Returns the queued connection
/// as well.
fn silent_host() -> (TcpListener, TcpStream) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .expect("a runtime");
    let listener = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
        let address = "127.0.0.1:0".parse().expect("an address");
        socket.bind(address).expect("a port");
        socket.listen(0)?.into_std()
    });
    let listener = listener.expect("a listener");
    let queued = TcpStream::connect(listener.local_addr().expect("an address"));
    (listener, queued.expect("a connection"))
}

#[test]
fn a_host_that_does_not_answer_is_tried_only_until_another_one_works() {
    let Some(server) = Server::start() else {
        return;
    };
    let database = server.database();
    let (silent, _queued) = silent_host();
    let url = format!(
        "postgres://postgres@127.0.0.1:{},127.0.0.1:{}/{}?sslmode=disable",
        silent.local_addr().expect("an address").port(),
        server.port(),
        database.name
    );
    let engine = Arc::new(PostgresEngine::open(options(&url)).expect("an engine"));
    commit_and_wait(&*engine, vec![put("a", "1")]).expect("a commit");
    // From now on, an attempt would be seen.
    silent.accept().expect("the queued connection");
    let others = "datname = current_database() AND pid <> pg_backend_pid()";
    let cut = format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}");
    server.execute(&database.name, &cut);
    commit_and_wait(&*engine, vec![put("a", "2")]).expect("a commit");
    assert_eq!(get(&*engine, "a").as_deref(), Some("2"));
    let attempt = silent.accept().map(drop).map_err(|it| it.kind());
    assert_eq!(attempt, Err(ErrorKind::WouldBlock));
}
