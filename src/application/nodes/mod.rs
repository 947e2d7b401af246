//! The processes that share the store.

pub mod maintainer;
pub(crate) mod rate_exchange;

use crate::application::core::Core;
use crate::application::paging::Window;
use std::collections::BTreeSet;
use std::time::Duration;
use tintype_actors::node::{HEARTBEAT_INTERVAL, NodeState, SeenNode};
use tintype_api::{Node, Page};
use tintype_storage::domain::ids::NodeId;
use tintype_storage::domain::node::{self, NodeProcess};

/// A node without a heartbeat for this long causes a warning.
const LATE: Duration = HEARTBEAT_INTERVAL.saturating_mul(3);
const DEAD: &str = "dead";

/// A page of the nodes, in the order of their starts.
pub struct NodeList {
    pub page: Page<Node>,
    /// Of all nodes.
    pub warnings: Vec<String>,
}

pub fn list(core: &Core, process: &NodeProcess, window: &Window) -> NodeList {
    let mut nodes = seen(core, process);
    nodes.sort_by_key(|(place, _)| *place);
    let (places, nodes): (Vec<_>, Vec<_>) = nodes.into_iter().unzip();
    let warnings = warnings(&nodes);
    let nodes = places.into_iter().zip(nodes);
    let mut later = nodes.filter(|(place, _)| window.after.is_none_or(|after| *place > after));
    let (places, data): (Vec<_>, Vec<_>) = later.by_ref().take(window.limit).unzip();
    let next = later.next().and(places.last().copied());
    NodeList {
        page: Page::of(data, next),
        warnings,
    }
}

fn seen(core: &Core, process: &NodeProcess) -> Vec<([u8; 16], Node)> {
    let Some(context) = core.system.node() else {
        let node = node::Node {
            running: core.system.queue().depths().running as u64,
            is_leaving: *core.stopping.borrow(),
            ..node::Node::new(process.clone())
        };
        return vec![([0; 16], view(None, node, Duration::ZERO, true))];
    };
    let nodes = context.nodes().into_iter();
    let view = |SeenNode { id, node, since }| {
        let place = place(id, &node);
        (
            place,
            view(Some(id), node, since.elapsed(), id == context.id),
        )
    };
    nodes.map(view).collect()
}

/// The place of a node in the list: its start, then its id. It is the cursor too, because the node may be gone by the next page.
fn place(id: NodeId, node: &node::Node) -> [u8; 16] {
    let started_at = node.process.started_at.millis().to_be_bytes();
    let mut place = id.0.into_bytes();
    place[..started_at.len()].copy_from_slice(&started_at);
    place
}

/// A node as the wire shows it. `id` is `None` if this process alone uses the store.
fn view(id: Option<NodeId>, node: node::Node, beat_age: Duration, answers: bool) -> Node {
    Node {
        node_id: id.map(Into::into),
        answers,
        state: match (node.has_ended, node.is_leaving) {
            (true, _) => DEAD.into(),
            (false, true) => "leaving".into(),
            (false, false) => "up".into(),
        },
        version: node.process.version,
        host: node.process.host,
        pid: node.process.pid,
        started_at: node.process.started_at.into(),
        running: node.running,
        beat_age_ms: u64::try_from(beat_age.as_millis()).unwrap_or(u64::MAX),
        configuration: node.process.configuration,
    }
}

/// Problems that need the operator's attention.
fn warnings(nodes: &[Node]) -> Vec<String> {
    let mut warnings = Vec::new();
    let living = || nodes.iter().filter(|it| *it.state != *DEAD);
    let kinds = |of: fn(&Node) -> &str| -> BTreeSet<&str> { living().map(of).collect() };
    let versions = kinds(|it| &it.version);
    if versions.len() > 1 {
        let versions: Vec<&str> = versions.into_iter().collect();
        warnings.push(format!(
            "the nodes run different versions: {}; finish the upgrade",
            versions.join(", ")
        ));
    }
    if kinds(|it| &it.configuration).len() > 1 {
        warnings.push(
            "the nodes are configured differently: compare what `tintype check-config` prints on each machine, and restart those that are behind".into(),
        );
    }
    for late in living().filter(|it| u128::from(it.beat_age_ms) >= LATE.as_millis()) {
        let Node { host, pid, .. } = late;
        warnings.push(format!(
            "the node {host}, process {pid}, has sent no heartbeat for {} s",
            late.beat_age_ms / 1_000
        ));
    }
    warnings
}

/// Why a load balancer should send this process no calls; `None` if it is ready.
pub fn reason_not_ready(core: &Core) -> Option<String> {
    match core.system.node()?.state() {
        NodeState::Trusted => None,
        NodeState::Joining => Some("this node has not joined the others yet".into()),
        NodeState::Doubtful { since } => Some(format!(
            "the database has not confirmed for {} s that this node lives, so it begins nothing",
            since.as_secs()
        )),
        NodeState::Leaving => Some("this node is stopping".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(version: &str, configuration: &str, beat_age: Duration) -> Node {
        super::view(
            None,
            node::Node::new(process(version, configuration)),
            beat_age,
            false,
        )
    }

    fn process(version: &str, configuration: &str) -> NodeProcess {
        NodeProcess {
            version: version.into(),
            host: "a".into(),
            pid: 7,
            configuration: configuration.into(),
            ..NodeProcess::default()
        }
    }

    #[test]
    fn equal_nodes_with_recent_heartbeats_cause_no_warning() {
        let views = [
            view("1", "x", Duration::ZERO),
            view("1", "x", HEARTBEAT_INTERVAL),
        ];
        assert!(warnings(&views).is_empty());
        assert!(warnings(&[]).is_empty());
    }

    #[test]
    fn different_versions_or_configurations_and_missing_heartbeats_cause_warnings() {
        let views = [
            view("1", "x", Duration::ZERO),
            view("2", "y", Duration::from_secs(9)),
        ];
        let warnings = warnings(&views);
        let about = [
            "1, 2",
            "configured differently",
            "process 7, has sent no heartbeat",
        ];
        assert_eq!(warnings.len(), about.len(), "{warnings:?}");
        for (warning, about) in warnings.iter().zip(about) {
            assert!(warning.contains(about), "{warning}");
        }
    }

    #[test]
    fn a_dead_node_causes_no_warning() {
        let dead = node::Node {
            has_ended: true,
            ..node::Node::new(process("2", "y"))
        };
        let dead = super::view(None, dead, Duration::from_secs(9), false);
        assert!(warnings(&[view("1", "x", Duration::ZERO), dead]).is_empty());
    }
}
