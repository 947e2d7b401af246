//! Heartbeats: a node proves that it is alive, and reads the heartbeats of the others.

use std::collections::HashSet;
use tintype_storage::domain::ids::NodeId;
use tintype_storage::domain::node::{Node, NodeProcess};
use tintype_storage::engine::{Key, ReadRequest};
use tintype_storage::store::tables::NODES;
use tintype_storage::store::{Decision, RoundReads, StoreError, Writes};

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

    fn decide(&mut self, reads: &RoundReads<'_>) -> Result<(Writes, Self::Outcome), StoreError> {
        let mut nodes = reads.scan(&NODES, &NODES.request_all())?;
        let joined = Node::new(self.process.clone());
        let writes = vec![NODES.put(&self.node, &joined)];
        nodes.push((self.node, joined));
        Ok((writes, nodes))
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

    fn decide(&mut self, reads: &RoundReads<'_>) -> Result<(Writes, HeartbeatOutcome), StoreError> {
        let own = reads.get(&NODES, &self.node)?;
        let Some(own) = own.filter(|it| !it.has_ended) else {
            return Ok((Writes::new(), HeartbeatOutcome::DeclaredDead));
        };
        let nodes = reads.scan(&NODES, &NODES.request_all())?;
        let updated = Node {
            beat: own.beat + 1,
            is_leaving: self.is_leaving,
            running: self.running,
            ..own
        };
        let writes = vec![NODES.put(&self.node, &updated)];
        Ok((writes, HeartbeatOutcome::Alive(nodes)))
    }
}

/// The recorded nodes that were not declared dead.
///
/// # Errors
/// A record is damaged, or the nodes were not read.
pub fn living_nodes(reads: &RoundReads<'_>) -> Result<HashSet<NodeId>, StoreError> {
    let nodes = reads.scan(&NODES, &NODES.request_all())?;
    let living = nodes.into_iter().filter(|(_, it)| !it.has_ended);
    Ok(living.map(|(id, _)| id).collect())
}
