//! Real nodes with clocks 20 minutes apart: they use the database's clock. With clocks further apart, a bucket refuses their signatures.

use crate::bucket::Bucket;
use crate::kill_load::register;
use crate::peer::Peer;
use crate::preload::Preload;
use crate::served_nodes::{configured, settled};
use crate::test_directory::{TestDirectory, until};
use chrono::{DateTime, TimeDelta, Utc};
use tintype_postgres::testing::server;

/// The clock errors of the nodes, in seconds.
const SKEWS: [&str; 3] = ["600", "0", "-600"];

fn moment(text: &serde_json::Value) -> DateTime<Utc> {
    let text = text.as_str().expect("a moment");
    DateTime::parse_from_rfc3339(text).expect("RFC 3339").into()
}

#[test]
fn the_clocks_of_nodes_may_be_minutes_apart() {
    let Some(server) = server() else { return };
    let (database, bucket, peer) = (server.database(), Bucket::start(), Peer::start());
    let library = Preload::build("tests/recovery/skewed_clock.c");
    let library = library.path.to_str().expect("a path");
    let places = SKEWS.map(|skew| {
        let mut place = configured(&database.url(), &bucket, &peer);
        place.set_variable("LD_PRELOAD", library);
        place.set_variable("SKEW_SECONDS", skew);
        place
    });
    let nodes = places.each_ref().map(TestDirectory::serve);
    let key = nodes[0].printed_key().expect("a key");
    register(&places[0], &nodes[0], &peer);
    let clients = nodes.each_ref().map(|it| it.client(&key));
    let began = Utc::now();
    // Sequential calls, so the jobs have the order of the calls.
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
        let seen = clients[(number + 1) % SKEWS.len()].job(job);
        let margin = TimeDelta::minutes(1);
        for field in ["created_at", "finished_at"] {
            let at = moment(&seen[field]);
            let is_right = at > began - margin && at < Utc::now() + margin;
            assert!(is_right, "{field} of node {number}: {at}");
        }
    }
    settled(&jobs, &peer, &clients, &places[1], nodes);
}
