//! Nodes: which of them live as this one sees them, and what it has done as one of several. A process that shares its records with no
//! other tells itself as the only one, so that charts and alerts need not know.

use super::exposition::Exposition;
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tintype_actors::node::{NodeContext, NodeState, SeenNode};
use tintype_actors::system::System;

pub fn collect(told: &mut Exposition, system: &System) {
    gauges(told, system.node());
    let stats = &system.stats().nodes;
    let counters: [(&str, &str, &AtomicU64); 4] = [
        (
            "tintype_node_takeovers_total",
            "Nodes that this one has taken for dead.",
            &stats.takeovers,
        ),
        (
            "tintype_node_jobs_put_back_total",
            "Jobs of dead nodes that this one has put back into their queues.",
            &stats.jobs_put_back,
        ),
        (
            "tintype_queue_takes_total",
            "Rounds in which this node took jobs from the queue that all nodes share.",
            &stats.takes,
        ),
        (
            "tintype_queue_jobs_taken_total",
            "Jobs that this node took from the queue that all nodes share.",
            &stats.jobs_taken,
        ),
    ];
    for (name, help, count) in counters {
        told.counter(name, help)
            .value(&[], count.load(Ordering::Relaxed));
    }
}

fn gauges(told: &mut Exposition, context: Option<&NodeContext>) {
    let all = context.map(NodeContext::nodes).unwrap_or_default();
    let (ended, living): (Vec<_>, Vec<_>) = all.iter().partition(|it| it.node.has_ended);
    let leaving = living.iter().filter(|it| it.node.is_leaving).count();
    let up = match context {
        Some(_) => living.len() - leaving,
        None => 1,
    };
    told.gauge(
        "tintype_nodes",
        "Nodes on record, as this one sees them; dead are those whose jobs are being put back.",
    )
    .value(&[("state", "up")], up)
    .value(&[("state", "leaving")], leaving)
    .value(&[("state", "dead")], ended.len());
    let state = context.map_or(NodeState::Trusted, NodeContext::state);
    told.gauge(
        "tintype_node_trusted",
        "1 while this node may begin runs: it has joined the others, does not leave, and the database confirms its beats.",
    )
    .flag(&[], state == NodeState::Trusted);
    let ages = living.iter().map(|it| it.since.elapsed());
    told.gauge(
        "tintype_node_oldest_beat_age_seconds",
        "How long ago this node saw the last sign of life of the node that it has heard least of.",
    )
    .value(&[], ages.max().unwrap_or(Duration::ZERO).as_secs_f64());
    let kinds = |of: fn(&SeenNode) -> &String| {
        let kinds: HashSet<&String> = living.iter().map(|it| of(it)).collect();
        kinds.len().max(1)
    };
    told.gauge(
        "tintype_node_versions",
        "Versions that the living nodes run.",
    )
    .value(&[], kinds(|it| &it.node.process.version));
    told.gauge(
        "tintype_node_configurations",
        "Configurations that the living nodes have; what may differ from node to node does not count.",
    )
    .value(&[], kinds(|it| &it.node.process.configuration));
}
