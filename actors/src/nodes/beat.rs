//! A beat: a node shows that it lives, and sees the beats of the others.

use super::living_nodes::all_nodes;
use crate::round::{Decided, Decision, value_of};
use tintype_storage::domain::ids::NodeId;
use tintype_storage::domain::node::{Node, NodeProcess};
use tintype_storage::engine::{Ask, Key, Seen};
use tintype_storage::store::tables::NODES;
use tintype_storage::store::{StoreError, Writes};

/// The first beat of a node: from here on the others watch it.
pub struct Join {
    pub node: NodeId,
    pub process: NodeProcess,
}

/// A further one.
pub struct Beat {
    pub node: NodeId,
    pub is_leaving: bool,
    /// Jobs that the node runs.
    pub running: u64,
}

/// What a beat has seen.
pub enum Beaten {
    /// All nodes that are on record.
    Alive(Vec<(NodeId, Node)>),
    /// Another node has taken this one for dead.
    Dead,
}

impl Decision for Join {
    type Outcome = ();

    fn holds(&self) -> Vec<Key> {
        vec![NODES.key(&self.node)]
    }

    fn needs(&self) -> Vec<Ask> {
        Vec::new()
    }

    fn decide(&self, _: &Seen) -> Result<Decided<()>, StoreError> {
        let joined = Node::new(self.process.clone());
        let writes = vec![NODES.put(&self.node, &joined)];
        Ok(Decided::Write(writes, ()))
    }
}

impl Decision for Beat {
    type Outcome = Beaten;

    fn holds(&self) -> Vec<Key> {
        vec![NODES.key(&self.node)]
    }

    fn needs(&self) -> Vec<Ask> {
        vec![Ask::Get(NODES.key(&self.node)), all_nodes()]
    }

    fn decide(&self, seen: &Seen) -> Result<Decided<Beaten>, StoreError> {
        let own = value_of(seen, &NODES.key(&self.node), |it| NODES.decode(it))?;
        let Some(own) = own.filter(|it| !it.has_ended) else {
            return Ok(Decided::Write(Writes::new(), Beaten::Dead));
        };
        let pairs = seen.pairs(&all_nodes()).ok_or(StoreError::NotRead)?;
        let nodes = pairs
            .iter()
            .filter_map(|(key, value)| NODES.entry(key, value).transpose())
            .collect::<Result<_, _>>()?;
        let beaten = Node {
            beat: own.beat + 1,
            is_leaving: self.is_leaving,
            running: self.running,
            ..own
        };
        let writes = vec![NODES.put(&self.node, &beaten)];
        Ok(Decided::Write(writes, Beaten::Alive(nodes)))
    }
}
