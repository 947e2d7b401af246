//! Nodes: the cluster as this node sees it, and this node's takeovers. A single server reports itself as the only node, so that charts
//! and alerts work unchanged.

use super::exposition::Exposition;
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tintype_actors::node::{NodeContext, NodeState, SeenNode};
use tintype_actors::system::System;

pub fn collect(out: &mut Exposition, system: &System) {
    gauges(out, system.node());
    let stats = &system.stats().nodes;
    let counters: [(&str, &str, &AtomicU64); 4] = [
        (
            "tintype_node_takeovers_total",
            "Nodes that this node has declared dead.",
            &stats.takeovers,
        ),
        (
            "tintype_node_jobs_put_back_total",
            "Jobs of dead nodes that this node has requeued.",
            &stats.jobs_put_back,
        ),
        (
            "tintype_queue_takes_total",
            "Times that this node took jobs from the shared queue.",
            &stats.takes,
        ),
        (
            "tintype_queue_jobs_taken_total",
            "Jobs that this node took from the shared queue.",
            &stats.jobs_taken,
        ),
    ];
    for (name, help, count) in counters {
        out.counter(name, help)
            .value(&[], count.load(Ordering::Relaxed));
    }
}

fn gauges(out: &mut Exposition, context: Option<&NodeContext>) {
    let all = context.map(NodeContext::nodes).unwrap_or_default();
    let (ended, living): (Vec<_>, Vec<_>) = all.iter().partition(|it| it.node.has_ended);
    let leaving = living.iter().filter(|it| it.node.is_leaving).count();
    let up = match context {
        Some(_) => living.len() - leaving,
        None => 1,
    };
    out.gauge(
        "tintype_nodes",
        "Nodes as this node sees them, by state; dead nodes have jobs that are still being requeued.",
    )
    .value(&[("state", "up")], up)
    .value(&[("state", "leaving")], leaving)
    .value(&[("state", "dead")], ended.len());
    let state = context.map_or(NodeState::Trusted, NodeContext::state);
    out.gauge(
        "tintype_node_trusted",
        "1 while this node may start runs: it has joined, is not leaving, and the database confirms its heartbeats.",
    )
    .flag(&[], state == NodeState::Trusted);
    out.gauge(
        "tintype_node_leaving",
        "1 while this node leaves: it takes no more jobs and is about to end.",
    )
    .flag(&[], state == NodeState::Leaving);
    let ages = living.iter().map(|it| it.since.elapsed());
    out.gauge(
        "tintype_node_oldest_beat_age_seconds",
        "Age of the oldest last heartbeat among the living nodes, as this node sees it.",
    )
    .value(&[], ages.max().unwrap_or(Duration::ZERO).as_secs_f64());
    let kinds = |of: fn(&SeenNode) -> &String| {
        let kinds: HashSet<&String> = living.iter().map(|it| of(it)).collect();
        kinds.len().max(1)
    };
    out.gauge(
        "tintype_node_versions",
        "Distinct versions among the living nodes.",
    )
    .value(&[], kinds(|it| &it.node.process.version));
    out.gauge(
        "tintype_node_configurations",
        "Distinct configurations among the living nodes, without settings that may differ between nodes.",
    )
    .value(&[], kinds(|it| &it.node.process.configuration));
}
