//! Real nodes that share a database: one node freezes during deliveries, and the others take over its receivers. Any node can resend a
//! delivery.

use crate::bucket::Bucket;
use crate::client::Client;
use crate::kill_deliveries::{Log, receiver};
use crate::kill_load::register_url;
use crate::peer::Peer;
use crate::served_nodes::places;
use crate::test_directory::{Service, TestDirectory, signal, until};
use serde_json::json;
use tintype_postgres::testing::server;

/// They fall into nearly as many shards, so that each node serves some.
const RECEIVERS: usize = 8;
const ROUNDS: usize = 3;

/// How often receivers accepted the delivery of a job.
fn taken(log: &Log, job: &str) -> usize {
    let log = log.lock().expect("log");
    let answers = log.get(job).into_iter().flatten();
    answers.filter(|it| **it == 200).count()
}

#[test]
fn the_receivers_of_a_frozen_node_get_their_deliveries_from_other_nodes() {
    let Some(server) = server() else { return };
    let (database, bucket, peer) = (server.database(), Bucket::start(), Peer::start());
    let places = places(&database.url(), &bucket, &peer);
    let mut nodes = places.each_ref().map(TestDirectory::serve);
    let key = nodes[0].printed_key().expect("a key");
    let receivers: Vec<(String, Log)> = (0..RECEIVERS).map(|_| receiver()).collect();
    for (url, _) in &receivers {
        register_url(&places[0], &nodes[0], url);
    }
    let clients = nodes.each_ref().map(|it| it.client(&key));
    let mut jobs = Vec::new();
    for round in 0..ROUNDS {
        for (number, (url, log)) in receivers.iter().enumerate() {
            let body = json!({"prompt": "a fox", "aspect_ratio": "1:1", "callback_url": url});
            let client = &clients[(round + number) % clients.len()];
            let made = client.call("POST", "/api/v1/nb/text-generations", Some(&body));
            jobs.push((made.accepted(), log));
        }
    }
    until("the first deliveries arrive", || {
        let delivered = jobs.iter().any(|(job, log)| taken(log, job) > 0);
        delivered.then_some(())
    });
    let [still, others @ ..] = &mut nodes;
    signal("STOP", still.pid());
    until("every job is delivered", || {
        let delivered = jobs.iter().all(|(job, log)| taken(log, job) > 0);
        delivered.then_some(())
    });
    signal("CONT", still.pid());
    // Another node has declared it dead, so its commits fail.
    assert_eq!(still.code(), Some(1), "{}", still.end());
    for (number, (job, log)) in jobs.iter().enumerate() {
        let before = taken(log, job);
        let at = number % others.len();
        let operator = Client::new(&others[at].address(), &places[at + 1].token());
        let path = format!("/admin/v1/deliveries/{job}/redeliver");
        until("its first delivery is on record", || {
            let answer = operator.get(&format!("/admin/v1/deliveries/{job}"));
            (answer.json()["status"] == "delivered").then_some(())
        });
        let again = operator.call("POST", &path, None);
        assert_eq!(again.status, 202, "{}", again.json());
        until("the delivery arrives again", || {
            (taken(log, job) > before).then_some(())
        });
    }
    let [_, others @ ..] = nodes;
    others.into_iter().for_each(Service::stop);
    let verified = places[0].run(&["verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    let counted = format!("{} deliveries", jobs.len());
    assert!(verified.out.contains(&counted), "{verified:?}");
}
