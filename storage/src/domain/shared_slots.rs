//! Backend slots that several nodes share: the nodes together run at most as many jobs at a backend as it has slots.
//!
//! A node takes a slot before a run starts and returns it after the run. Slots of a node that left or was declared dead are
//! free.

use super::ids::NodeId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The holders of each backend's slots.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedSlots(BTreeMap<String, Vec<SlotHolder>>);

/// A node that holds or waits for slots. Waiting nodes are in the order in which they started to wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SlotHolder {
    node: NodeId,
    held: u32,
    waits: bool,
}

/// What a node holds and needs of a backend's slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotRequest {
    pub backend: String,
    /// The backend's total number of slots.
    pub slots: u32,
    /// Slots that the node holds and does not return.
    pub keeps: u32,
    /// Further slots, for runs that wait at the node and can start at no other backend.
    pub needs: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotGrant {
    /// Granted slots of those that the node needs.
    pub granted: u32,
    /// Other free slots for which no node waits.
    pub free: u32,
}

impl SharedSlots {
    /// Returns slots and takes the free ones that the node needs. If some are missing, the node waits for them: no later node
    /// takes a slot before it.
    pub fn settle(
        &mut self,
        node: NodeId,
        request: &SlotRequest,
        is_living: impl Fn(NodeId) -> bool,
    ) -> SlotGrant {
        let SlotRequest { keeps, needs, .. } = *request;
        let holders = self.0.entry(request.backend.clone()).or_default();
        holders.retain(|it| is_living(it.node));
        let own = holders.iter().position(|it| it.node == node);
        let waited_at = own.filter(|at| holders[*at].waits);
        let ahead = holders[..waited_at.unwrap_or(holders.len())].iter();
        let ahead = ahead.filter(|it| it.waits && it.node != node).count();
        let others = holders.iter().filter(|it| it.node != node);
        let taken = others.map(|it| it.held).sum::<u32>() + keeps + ahead as u32;
        let free = request.slots.saturating_sub(taken);
        let granted = needs.min(free);
        let holder = SlotHolder {
            node,
            held: keeps + granted,
            waits: granted < needs,
        };
        match own {
            // The node keeps its turn while it gets nothing.
            Some(at) if holder.waits && waited_at.is_some() && granted == 0 => holders[at] = holder,
            own => {
                own.map(|at| holders.remove(at));
                holders.push(holder);
            }
        }
        holders.retain(|it| it.held > 0 || it.waits);
        SlotGrant {
            granted,
            free: free - granted,
        }
    }

    /// Takes some of the slots that [`Self::settle`] found free.
    pub fn take(&mut self, backend: &str, node: NodeId, slots: u32) {
        if slots == 0 {
            return;
        }
        let holders = self.0.entry(backend.to_owned()).or_default();
        match holders.iter_mut().find(|it| it.node == node) {
            Some(holder) => holder.held += slots,
            None => holders.push(SlotHolder {
                node,
                held: slots,
                waits: false,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    const ONE: NodeId = NodeId(Uuid::from_u128(1));
    const TWO: NodeId = NodeId(Uuid::from_u128(2));
    const THREE: NodeId = NodeId(Uuid::from_u128(3));

    fn settle(slots: &mut SharedSlots, node: NodeId, keeps: u32, needs: u32) -> (u32, u32) {
        let request = SlotRequest {
            backend: "gpu".into(),
            slots: 2,
            keeps,
            needs,
        };
        let grant = slots.settle(node, &request, |_| true);
        (grant.granted, grant.free)
    }

    #[test]
    fn all_nodes_together_use_at_most_the_slots_of_a_backend() {
        let mut slots = SharedSlots::default();
        assert_eq!(settle(&mut slots, ONE, 0, 1), (1, 1));
        assert_eq!(settle(&mut slots, TWO, 0, 0), (0, 1));
        slots.take("gpu", TWO, 1);
        assert_eq!(settle(&mut slots, ONE, 1, 0), (0, 0));
        assert_eq!(settle(&mut slots, THREE, 0, 0), (0, 0));
        assert_eq!(settle(&mut slots, ONE, 0, 0), (0, 1));
        let other = SlotRequest {
            backend: "other".into(),
            slots: 1,
            keeps: 0,
            needs: 0,
        };
        assert_eq!(slots.settle(ONE, &other, |_| true).free, 1);
    }

    #[test]
    fn waiting_nodes_get_slots_in_turn() {
        let mut slots = SharedSlots::default();
        assert_eq!(settle(&mut slots, ONE, 0, 2), (2, 0));
        assert_eq!(settle(&mut slots, TWO, 0, 1), (0, 0));
        assert_eq!(settle(&mut slots, THREE, 0, 1), (0, 0));
        // The node that returns a slot takes none while others wait.
        assert_eq!(settle(&mut slots, ONE, 1, 1), (0, 0));
        assert_eq!(settle(&mut slots, THREE, 0, 1), (0, 0), "the second waits");
        assert_eq!(settle(&mut slots, TWO, 0, 1), (1, 0));
        assert_eq!(settle(&mut slots, ONE, 0, 1), (0, 0));
        assert_eq!(settle(&mut slots, THREE, 0, 1), (1, 0));
        // A node that stopped waiting reserves no slot.
        assert_eq!(settle(&mut slots, ONE, 0, 0), (0, 0));
        assert_eq!(settle(&mut slots, TWO, 0, 0), (0, 1));
    }

    #[test]
    fn the_slots_of_a_dead_node_are_free() {
        let mut slots = SharedSlots::default();
        settle(&mut slots, ONE, 0, 2);
        settle(&mut slots, TWO, 0, 1);
        let request = SlotRequest {
            backend: "gpu".into(),
            slots: 2,
            keeps: 0,
            needs: 3,
        };
        let grant = slots.settle(THREE, &request, |it| it == THREE);
        assert_eq!((grant.granted, grant.free), (2, 0));
    }
}
