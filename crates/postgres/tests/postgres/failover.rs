//! A primary server and its standby, both named in the URL.

use crate::support::{get, options, put};
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
