//! Concurrent scans: scans of one table share a statement.

use crate::support::{open, put};
use std::sync::mpsc::channel;
use tintype_postgres::testing::server;
use tintype_storage::engine::{
    Direction, Engine, KeyRange, ReadRequest, ReadResults, RoundStep, commit_and_wait,
};
use tintype_storage::testing::rounds::round_of;

#[test]
fn scans_in_one_round_trip_return_the_same_pairs_as_separate_scans() {
    let Some(server) = server() else { return };
    let database = server.database();
    let engine = open(&database);
    // `j` and `l` are in one table, `e` is in another.
    let writes = ["j", "l", "e"].into_iter().flat_map(|kind| {
        let number = 0..40;
        number.map(move |it| {
            put(
                &format!("{kind}{}-{it:02}", it % 4),
                &format!("{kind} {it}"),
            )
        })
    });
    commit_and_wait(&*engine, writes.collect()).expect("a commit");
    let requests: Vec<ReadRequest> = ["j0", "j1", "l2", "nothing", "l", "e3", "e0-0", "", "j3"]
        .into_iter()
        .flat_map(|prefix| {
            let range = KeyRange::prefix(prefix.as_bytes());
            [
                ReadRequest::Scan(range.clone(), Direction::Rising, 3),
                ReadRequest::Scan(range.clone(), Direction::Falling, 7),
                ReadRequest::Scan(range, Direction::Falling, usize::MAX),
            ]
        })
        .collect();
    let alone: Vec<_> = requests
        .iter()
        .map(|request| match request {
            ReadRequest::Scan(range, direction, limit) => {
                engine.scan(range, *direction, *limit).wait().expect("read")
            }
            ReadRequest::Get(_) => Vec::new(),
        })
        .collect();
    let (sender, reads) = channel();
    let initial_reads = requests.clone();
    let decide = move |reads: &ReadResults| {
        let pairs = |request| reads.pairs(request).expect("an answer").to_vec();
        let results: Vec<_> = requests.iter().map(pairs).collect();
        sender.send(results).expect("the test listens");
        RoundStep::Write(Vec::new())
    };
    let round = round_of(&["account"], decide).reading(initial_reads);
    round.run(&engine).expect("a commit");
    assert_eq!(reads.recv().expect("an answer"), alone);
    assert!(alone.iter().filter(|it| !it.is_empty()).count() > 20);
}
