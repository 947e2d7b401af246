//! Heartbeats: a node proves that it is alive, and reads the heartbeats of the others.

use super::living_nodes::all_nodes;
use crate::round::{Decision, DecisionStep, value_of};
use tintype_storage::domain::ids::NodeId;
use tintype_storage::domain::node::{Node, NodeProcess};
use tintype_storage::engine::{Key, ReadRequest, ReadResults};
use tintype_storage::store::tables::NODES;
use tintype_storage::store::{StoreError, Writes};

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

    fn holds(&self) -> Vec<Key> {
        vec![NODES.key(&self.node)]
    }

    fn needs(&self) -> Vec<ReadRequest> {
        vec![all_nodes()]
    }

    fn decide(&self, reads: &ReadResults) -> Result<DecisionStep<Self::Outcome>, StoreError> {
        let mut nodes = recorded_nodes(reads)?;
        let joined = Node::new(self.process.clone());
        let writes = vec![NODES.put(&self.node, &joined)];
        nodes.push((self.node, joined));
        Ok(DecisionStep::Write(writes, nodes))
    }
}

impl Decision for Heartbeat {
    type Outcome = HeartbeatOutcome;

    fn holds(&self) -> Vec<Key> {
        vec![NODES.key(&self.node)]
    }

    fn needs(&self) -> Vec<ReadRequest> {
        vec![ReadRequest::Get(NODES.key(&self.node)), all_nodes()]
    }

    fn decide(&self, reads: &ReadResults) -> Result<DecisionStep<HeartbeatOutcome>, StoreError> {
        let own = value_of(reads, &NODES.key(&self.node), |it| NODES.decode(it))?;
        let Some(own) = own.filter(|it| !it.has_ended) else {
            return Ok(DecisionStep::Write(
                Writes::new(),
                HeartbeatOutcome::DeclaredDead,
            ));
        };
        let nodes = recorded_nodes(reads)?;
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

fn recorded_nodes(reads: &ReadResults) -> Result<Vec<(NodeId, Node)>, StoreError> {
    let pairs = reads.pairs(&all_nodes()).ok_or(StoreError::NotRead)?;
    let nodes = pairs
        .iter()
        .filter_map(|(key, value)| NODES.entry(key, value).transpose());
    nodes.collect()
}
