//! `[backends.x] shared`: all nodes together share the slots of a backend.

use crate::support::batches::entry_with;
use crate::support::nodes::two_nodes;
use crate::support::{Options, Origin, Server, origin, until};
use serde_json::{Value, json};
use std::sync::Arc;

/// The number of runs at the backend, as the nodes report it.
fn running(nodes: &[Server]) -> u64 {
    let of = |node: &Server| {
        let stats = node.admin("GET", "/stats").expect(200).json();
        let backend = &stats["backends"][0];
        assert_eq!(
            (&backend["places"], &backend["shared"]),
            (&1.into(), &true.into())
        );
        backend["running"].as_u64().unwrap()
    };
    nodes.iter().map(of).sum()
}

#[test]
fn two_nodes_together_never_exceed_the_slots_of_a_backend() {
    let nodes = two_nodes(Options::new().slots(1));
    let generator = nodes[0].generator.clone();
    generator.hold();
    let customer = nodes[0].customer("9.00");
    let jobs: Vec<String> = (0..6).map(|at| nodes[at % 2].create(&customer)).collect();
    let states = || -> Vec<Value> {
        let job = |id: &String| nodes[0].job(&customer, id)["status"].clone();
        jobs.iter().map(job).collect()
    };
    for at in 0..jobs.len() {
        until("the next one runs", || generator.runs() == at + 1);
        until("that is on record", || states()[at] == "processing");
        let waiting = states().iter().filter(|it| *it == "queued").count();
        assert_eq!(waiting, jobs.len() - at - 1, "the others wait");
        assert_eq!(running(&nodes), 1);
        generator.release_one();
    }
    nodes[0].assert_settled();
    until("the slot is free", || running(&nodes) == 0);
}

#[test]
fn the_slot_of_a_node_that_left_is_used_by_another() {
    let [one, other] = two_nodes(Options::new().slots(1));
    let generator = one.generator.clone();
    generator.hold();
    let customer = one.customer("9.00");
    let jobs = [one.create(&customer), one.create(&customer)];
    until("one runs", || generator.runs() == 1);
    // Interrupts the run if this node has the slot.
    drop(one);
    generator.release_all();
    for job in &jobs {
        other.job_once(&customer, job, "done");
    }
    other.assert_settled();
}

#[test]
fn the_concurrency_of_an_unshared_backend_applies_to_each_node() {
    let options = Options::new().set("backends.builtin.concurrency", 1);
    let nodes = two_nodes(options);
    nodes[0].generator.hold();
    let customer = nodes[0].customer("9.00");
    for node in &nodes {
        node.create(&customer);
        node.create(&customer);
    }
    until("one runs at each", || nodes[0].generator.runs() == 2);
    nodes[0].generator.release_all();
    nodes[0].assert_settled();
}

/// A node that fetches for as many jobs of an account as it may passes over the account's other batch jobs.
#[test]
fn hostile_117_a_batch_with_slow_input_urls_does_not_occupy_the_slots_of_nodes() {
    let (release, wait) = std::sync::mpsc::channel::<()>();
    let wait = parking_lot::Mutex::new(wait);
    let stalled: origin::Serve = Arc::new(move |stream| {
        let _ = wait.lock().recv();
        origin::reply(stream, "200 OK", "", b"");
    });
    let origin = Origin::start([("/stalled", stalled)]);
    let nodes = two_nodes(Options::new().allow_loopback().slots(1));
    let [slow, other] = [(); 2].map(|()| nodes[0].customer("100.00"));
    let request = entry_with(json!({"input_images_urls": [origin.url("/stalled")]}));
    let batch = nodes[0].submit(&slow, &[(); 20].map(|()| request.clone()));
    until("each node fetches", || {
        nodes[0].batch(&slow, &batch)["counts"]["processing"].as_u64() >= Some(2)
    });
    let plain = nodes[1].submit(&other, &[entry_with(json!({})), entry_with(json!({}))]);
    let jobs: Vec<String> = (0..6).map(|at| nodes[at % 2].create(&other)).collect();
    for job in &jobs {
        nodes[0].job_once(&other, job, "done");
    }
    nodes[0].batch_ended(&other, &plain);
    let counts = &nodes[0].batch(&slow, &batch)["counts"];
    assert_eq!((&counts["done"], &counts["failed"]), (&json!(0), &json!(0)));
    assert!(counts["queued"].as_u64() >= Some(15), "{counts}");
    drop(release);
    let ended = nodes[0].batch_ended(&slow, &batch);
    assert_eq!(ended["counts"]["failed"], 20, "the response is no image");
    nodes[0].assert_money(&slow, "100.00", "0.00", "100.00");
}
