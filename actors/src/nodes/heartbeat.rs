//! Heartbeats: a node proves that it is alive, and reads the heartbeats of the others.

use crate::round::{Decision, DecisionStep};
use std::collections::HashSet;
use tintype_storage::domain::ids::NodeId;
use tintype_storage::domain::node::{Node, NodeProcess};
use tintype_storage::engine::{Key, ReadRequest, ReadResults};
use tintype_storage::store::StoreError;
use tintype_storage::store::tables::NODES;

/// The first heartbeat of a node. From now on the others watch the node.
pub struct Join {
    pub node: NodeId,
    pub process: NodeProcess,
}

/// A further heartbeat.
pub struct Heartbeat {
    pub node: NodeId,
    pub is_leaving: bool,
    /// Jobs that run on the node.
    pub running: u64,
}

pub enum HeartbeatOutcome {
    /// All recorded nodes.
    Alive(Vec<(NodeId, Node)>),
    /// Another node has declared this one dead.
    DeclaredDead,
}

impl Decision for Join {
    /// All recorded nodes, with this one.
    type Outcome = Vec<(NodeId, Node)>;

    fn locked_keys(&self) -> Vec<Key> {
        vec![NODES.key(&self.node)]
    }

    fn initial_reads(&self) -> Vec<ReadRequest> {
        vec![NODES.request_all()]
    }

    fn decide(&self, reads: &ReadResults) -> Result<DecisionStep<Self::Outcome>, StoreError> {
        let mut nodes = NODES.entries_of_reads(reads, &NODES.request_all())?;
        let joined = Node::new(self.process.clone());
        let writes = vec![NODES.put(&self.node, &joined)];
        nodes.push((self.node, joined));
        Ok(DecisionStep::Write(writes, nodes))
    }
}

impl Decision for Heartbeat {
    type Outcome = HeartbeatOutcome;

    fn locked_keys(&self) -> Vec<Key> {
        vec![NODES.key(&self.node)]
    }

    fn initial_reads(&self) -> Vec<ReadRequest> {
        vec![NODES.request(&self.node), NODES.request_all()]
    }

    fn decide(&self, reads: &ReadResults) -> Result<DecisionStep<HeartbeatOutcome>, StoreError> {
        let own = NODES.of_reads(reads, &self.node)?;
        let Some(own) = own.filter(|it| !it.has_ended) else {
            return Ok(DecisionStep::unchanged(HeartbeatOutcome::DeclaredDead));
        };
        let nodes = NODES.entries_of_reads(reads, &NODES.request_all())?;
        let updated = Node {
            beat: own.beat + 1,
            is_leaving: self.is_leaving,
            running: self.running,
            ..own
        };
        let writes = vec![NODES.put(&self.node, &updated)];
        Ok(DecisionStep::Write(writes, HeartbeatOutcome::Alive(nodes)))
    }
}

/// The recorded nodes that were not declared dead. The round has read [`NODES`].
///
/// # Errors
/// A record is damaged, or the nodes were not read.
pub fn living_nodes(reads: &ReadResults) -> Result<HashSet<NodeId>, StoreError> {
    let nodes = NODES.entries_of_reads(reads, &NODES.request_all())?;
    let living = nodes.into_iter().filter(|(_, it)| !it.has_ended);
    Ok(living.map(|(id, _)| id).collect())
}
