//! The database of several nodes fails over to its synchronous standby.

use crate::bucket::Bucket;
use crate::kill_load::{Memory, acknowledged, create_until_cut, end_exactly, register};
use crate::peer::Peer;
use crate::served_nodes::configured;
use crate::test_directory::{TestDirectory, until};
use std::sync::Mutex;
use std::time::Instant;
use tintype_postgres::testing::Server;

#[test]
fn a_standby_that_takes_over_under_load_has_all_that_was_acknowledged() {
    let Some(primary) = Server::start() else {
        return;
    };
    let (database, bucket, peer) = (primary.database(), Bucket::start(), Peer::start());
    let standby = primary.standby();
    let url = format!(
        "postgres://postgres@127.0.0.1:{},127.0.0.1:{}/{}?sslmode=disable&target_session_attrs=read-write",
        primary.port(),
        standby.port(),
        database.name
    );
    let memory = Mutex::new(Memory::default());
    let places = [(); 2].map(|()| configured(&url, &bucket, &peer));
    let mut nodes = places.each_ref().map(TestDirectory::serve);
    let key = nodes[0].printed_key().expect("a key");
    register(&places[0], &nodes[0], &peer);
    std::thread::scope(|scope| {
        for node in &nodes {
            let client = node.client(&key);
            let (peer, memory) = (&peer, &memory);
            scope.spawn(move || create_until_cut(&client, peer, memory));
        }
        let reach = |count: usize| {
            until("calls are answered", || {
                (acknowledged(&memory) >= count).then_some(())
            });
        };
        reach(50);
        primary.stop();
        let began = Instant::now();
        standby.promote();
        let before = acknowledged(&memory);
        reach(before + 1);
        println!("answered again after {:?}", began.elapsed());
        reach(before + 100);
        for node in &mut nodes {
            node.terminate();
            assert_eq!(node.code(), Some(0), "{}", node.end());
        }
    });
    drop(nodes);
    let jobs = end_exactly(&places[0], &peer, &key, memory);
    println!("{jobs} jobs acknowledged, all done and paid once");
    // The server that would drop the database no longer exists.
    std::mem::forget(database);
}
