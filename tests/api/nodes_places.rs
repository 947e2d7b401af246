//! `[backends.x] shared`: all nodes together share the slots of a backend.

use crate::support::nodes::two_nodes;
use crate::support::{Options, Server, until};
use serde_json::Value;

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
