//! Real nodes whose machines' clocks are 20 minutes apart: the database's clock counts. Further apart, a bucket refuses what they sign.

use crate::bucket::Bucket;
use crate::client::Client;
use crate::kill_load::{configure, register};
use crate::peer::Peer;
use crate::place::{Place, Service, until};
use crate::postgres::place;
use chrono::{DateTime, TimeDelta, Utc};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use tintype_postgres::testing::server;

/// What the nodes' machines are wrong by, in seconds.
const SKEWS: [&str; 3] = ["600", "0", "-600"];

/// The library that changes the time of day.
fn skewed_clock() -> &'static Path {
    static BUILT: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, library) = BUILT.get_or_init(|| {
        let directory = tempfile::tempdir().expect("a directory");
        let library = directory.path().join("skewed_clock.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recovery/skewed_clock.c");
        let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
        let compiled = Command::new(compiler)
            .args(["-O1", "-shared", "-fPIC", "-o"])
            .args([&library, &source])
            .status();
        assert!(compiled.expect("a C compiler").success());
        (directory, library)
    });
    library
}

fn moment(text: &serde_json::Value) -> DateTime<Utc> {
    let text = text.as_str().expect("a moment");
    DateTime::parse_from_rfc3339(text).expect("RFC 3339").into()
}

#[test]
fn the_clocks_of_nodes_may_be_minutes_apart() {
    let Some(server) = server() else { return };
    let (database, bucket, peer) = (server.database(), Bucket::start(), Peer::start());
    let library = skewed_clock().to_str().expect("a path");
    let places = SKEWS.map(|skew| {
        let mut place = place(&database.url(), &bucket);
        configure(&place, &peer);
        place.set_variable("LD_PRELOAD", library);
        place.set_variable("SKEW_SECONDS", skew);
        place
    });
    let nodes = places.each_ref().map(Place::serve);
    let key = nodes[0].printed_key().expect("a key");
    register(&places[0], &nodes[0], &peer);
    let clients = nodes.each_ref().map(|it| it.client(&key));
    let began = Utc::now();
    // One after the other: their order is that of the calls.
    let jobs: Vec<String> = (0..12)
        .map(|number| {
            let client = &clients[number % SKEWS.len()];
            client.create_small_now(&format!("job-{number}")).accepted()
        })
        .collect();
    let mut sorted = jobs.clone();
    sorted.sort();
    assert_eq!(jobs, sorted, "ids rise over all nodes");
    for (number, job) in jobs.iter().enumerate() {
        let done = || (clients[0].job(job)["status"] == "done").then_some(());
        until("the job is done", done);
        let told = clients[(number + 1) % SKEWS.len()].job(job);
        let margin = TimeDelta::minutes(1);
        for field in ["created_at", "finished_at"] {
            let at = moment(&told[field]);
            let is_right = at > began - margin && at < Utc::now() + margin;
            assert!(is_right, "{field} of node {number}: {at}");
        }
    }
    until("every end is told", || {
        let told = peer.told();
        jobs.iter().all(|job| told.contains_key(job)).then_some(())
    });
    let money = clients.each_ref().map(Client::money);
    assert!(money.iter().all(|it| *it == money[0]), "{money:?}");
    nodes.into_iter().for_each(Service::stop);
    let verified = places[1].run(&["verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
}
