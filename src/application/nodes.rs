//! The processes that share the store.

use super::core::Core;
use std::collections::BTreeSet;
use std::time::Duration;
use tintype_actors::node::{HEARTBEAT_INTERVAL, NodeState, SeenNode};
use tintype_storage::domain::ids::NodeId;
use tintype_storage::domain::node::{Node, NodeProcess};

/// A node without a heartbeat for this long causes a warning.
const LATE: Duration = HEARTBEAT_INTERVAL.saturating_mul(3);

pub struct NodeView {
    /// `None` if this process alone uses the store.
    pub id: Option<NodeId>,
    pub node: Node,
    pub beat_age: Duration,
    /// Is it the current process?
    pub is_this: bool,
}

/// All nodes, in the order of their starts.
pub fn list(core: &Core, process: &NodeProcess) -> Vec<NodeView> {
    let running = core.system.waiting_jobs().depths().running as u64;
    let Some(context) = core.system.node() else {
        let node = Node {
            running,
            is_leaving: *core.stopping.borrow(),
            ..Node::new(process.clone())
        };
        return vec![NodeView {
            id: None,
            node,
            beat_age: Duration::ZERO,
            is_this: true,
        }];
    };
    let view = |SeenNode { id, node, since }| NodeView {
        is_this: id == context.id,
        id: Some(id),
        node,
        beat_age: since.elapsed(),
    };
    let mut views: Vec<NodeView> = context.nodes().into_iter().map(view).collect();
    views.sort_by_key(|it| (it.node.process.started_at, it.id));
    views
}

/// Problems that need the operator's attention.
pub fn warnings(views: &[NodeView]) -> Vec<String> {
    let mut warnings = Vec::new();
    let living = || views.iter().filter(|it| !it.node.has_ended);
    let kinds = |of: fn(&NodeProcess) -> &String| -> BTreeSet<&str> {
        living().map(|it| of(&it.node.process).as_str()).collect()
    };
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
    for late in living().filter(|it| it.beat_age >= LATE) {
        let NodeProcess { host, pid, .. } = &late.node.process;
        warnings.push(format!(
            "the node {host}, process {pid}, has sent no heartbeat for {} s",
            late.beat_age.as_secs()
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

    fn view(version: &str, configuration: &str, beat_age: Duration) -> NodeView {
        let process = NodeProcess {
            version: version.into(),
            host: "a".into(),
            pid: 7,
            configuration: configuration.into(),
            ..NodeProcess::default()
        };
        NodeView {
            id: None,
            node: Node::new(process),
            beat_age,
            is_this: false,
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
        let mut dead = view("2", "y", Duration::from_secs(9));
        dead.node.has_ended = true;
        assert!(warnings(&[view("1", "x", Duration::ZERO), dead]).is_empty());
    }
}
