//! Shards of webhooks. If several nodes share a store, one node sends to all webhooks of a shard, so one node knows a
//! receiver's health.

use super::ids::NodeId;
use super::webhook::WebhookId;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The number of shards. It never changes: the index of due deliveries is stored by shard.
const COUNT: u8 = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shard(u8);

/// The node that sends to the webhooks of a shard, if any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardHolder(pub Option<NodeId>);

impl Shard {
    /// In ascending order.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..COUNT).map(Self)
    }

    /// `None` for a number without a shard.
    pub fn from_number(number: u8) -> Option<Self> {
        (number < COUNT).then_some(Self(number))
    }

    pub fn number(self) -> u8 {
        self.0
    }

    pub fn of(webhook: WebhookId) -> Self {
        Self(Sha256::digest(webhook.as_bytes())[0] % COUNT)
    }

    /// The node that should hold the shard. A node that joins or leaves moves no shard between the other nodes (rendezvous
    /// hashing).
    pub fn choose(self, nodes: impl IntoIterator<Item = NodeId>) -> Option<NodeId> {
        nodes.into_iter().max_by_key(|node| {
            let digest = Sha256::new_with_prefix([self.0]).chain_update(node.as_bytes());
            (digest.finalize(), *node)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use uuid::Uuid;

    fn nodes(numbers: impl IntoIterator<Item = u128>) -> Vec<NodeId> {
        let node = |number| NodeId(Uuid::from_u128(number));
        numbers.into_iter().map(node).collect()
    }

    #[test]
    fn the_shard_of_a_receiver_never_changes() {
        let shard = |number| Shard::of(WebhookId(Uuid::from_u128(number))).number();
        assert_eq!([0, 1, 2, u128::MAX].map(shard), [55, 60, 41, 26]);
    }

    #[test]
    fn every_node_is_chosen_for_some_shards_and_keeps_them_when_another_leaves() {
        let (all, fewer) = (nodes(1..=4), nodes(1..=3));
        let mut counts: HashMap<NodeId, usize> = HashMap::new();
        for shard in Shard::all() {
            let chosen = shard.choose(all.clone()).expect("a node");
            *counts.entry(chosen).or_default() += 1;
            if fewer.contains(&chosen) {
                assert_eq!(shard.choose(fewer.clone()), Some(chosen));
            }
        }
        assert!(
            counts.len() == 4 && counts.values().all(|it| *it >= 5),
            "{counts:?}"
        );
        assert_eq!(Shard::of(WebhookId(Uuid::nil())).choose([]), None);
    }

    #[test]
    fn only_numbers_of_shards_are_read() {
        assert!(Shard::all().all(|it| Shard::from_number(it.number()) == Some(it)));
        assert_eq!(Shard::from_number(COUNT), None);
    }
}
