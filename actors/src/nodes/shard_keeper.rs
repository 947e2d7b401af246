//! Assigns shards of webhook receivers to nodes. A node takes over a shard only if its holder has left, or was declared dead and fenced.
//! A living node releases a shard once it has no attempt in flight. So two living nodes never send to the same receiver.

use super::heartbeat::living_nodes;
use crate::delivery::{DeliveryActor, DeliveryCommand};
use crate::node::{HEARTBEAT_INTERVAL, NodeContext};
use crate::process_context::ProcessContext;
use crate::round::decide;
use actix::Addr;
use futures_util::future::{try_join, try_join_all};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use tintype_storage::domain::ids::NodeId;
use tintype_storage::domain::shard::{Shard, ShardHolder};
use tintype_storage::engine::{Key, ReadRequest};
use tintype_storage::store::tables::{NODES, SHARD_HOLDERS};
use tintype_storage::store::{Decision, RoundReads, Store, StoreError, Writes};
use tokio::sync::oneshot;
use tokio::time::sleep;

/// The number of pending deliveries in the shards that a node holds.
pub async fn pending_deliveries(store: &Store, node: NodeId) -> Result<usize, StoreError> {
    let own = SHARD_HOLDERS.all(store).await?.into_iter();
    let own = own.filter(|(_, holder)| holder.0 == Some(node));
    let counts = own.map(|(shard, _)| store.pending_of_shard(shard));
    Ok(try_join_all(counts).await?.into_iter().sum())
}

/// Takes and releases shards, until the node holds its share among the living nodes.
pub struct ShardKeeper {
    pub node: Arc<NodeContext>,
    pub process: Arc<ProcessContext>,
    pub deliveries: Addr<DeliveryActor>,
}

impl ShardKeeper {
    /// Runs until it is aborted.
    pub async fn run(self) {
        loop {
            sleep(HEARTBEAT_INTERVAL).await;
            if !self.node.is_trusted() {
                continue;
            }
            if let Err(error) = self.rebalance().await {
                return self.process.fail_stop.trip(error.to_string());
            }
        }
    }

    async fn rebalance(&self) -> Result<(), StoreError> {
        while let Some(moves) = self.next_move().await? {
            decide(&self.process.store, moves).await?;
        }
        Ok(())
    }

    /// Sends the held shards to the delivery actor, and returns the shards to take and to release, if any.
    async fn next_move(&self) -> Result<Option<Move>, StoreError> {
        let node = self.node.id;
        let (mut living, holders) = try_join(
            NODES.all(&self.process.store),
            SHARD_HOLDERS.all(&self.process.store),
        )
        .await?;
        living.retain(|(_, it)| !it.has_ended);
        let is_alive = |id: &NodeId| living.iter().any(|(it, _)| it == id);
        if !is_alive(&node) {
            return Ok(None);
        }
        // A leaving node releases all shards.
        let staying = living.iter().filter(|(_, it)| !it.is_leaving);
        let staying: Vec<NodeId> = staying.map(|(id, _)| *id).collect();
        let holders: HashMap<Shard, ShardHolder> = holders.into_iter().collect();
        let holder = |shard: &Shard| holders.get(shard).and_then(|it| it.0);
        let (own, others): (HashSet<Shard>, HashSet<Shard>) =
            Shard::all().partition(|it| it.choose(staying.iter().copied()) == Some(node));
        let (held, missing): (HashSet<Shard>, HashSet<Shard>) =
            own.into_iter().partition(|it| holder(it) == Some(node));
        let busy = self.hold(held).await;
        let moves = Move {
            node,
            take: missing
                .into_iter()
                .filter(|it| holder(it).is_none_or(|of| !is_alive(&of)))
                .collect(),
            release: others
                .into_iter()
                .filter(|it| holder(it) == Some(node) && !busy.contains(it))
                .collect(),
        };
        Ok((!moves.take.is_empty() || !moves.release.is_empty()).then_some(moves))
    }

    /// Returns the other shards that still have attempts in flight.
    async fn hold(&self, shards: HashSet<Shard>) -> HashSet<Shard> {
        let (reply, busy) = oneshot::channel();
        let command = DeliveryCommand::Hold { shards, reply };
        self.deliveries.do_send(command);
        // The actor has stopped with the process.
        busy.await.unwrap_or_else(|_| Shard::all().collect())
    }
}

struct Move {
    node: NodeId,
    take: Vec<Shard>,
    release: Vec<Shard>,
}

impl Decision for Move {
    type Outcome = ();

    fn locked_keys(&self) -> Vec<Key> {
        let shards = self.take.iter().chain(&self.release);
        shards.map(|it| SHARD_HOLDERS.key(it)).collect()
    }

    fn initial_reads(&self) -> Vec<ReadRequest> {
        let holders = self.locked_keys().into_iter().map(ReadRequest::Get);
        holders.chain([NODES.request_all()]).collect()
    }

    fn decide(&mut self, reads: &RoundReads<'_>) -> Result<(Writes, ()), StoreError> {
        let living = living_nodes(reads)?;
        if !living.contains(&self.node) {
            return Ok((Writes::new(), ()));
        }
        let mut writes = Writes::new();
        let holder = |shard: &Shard| {
            let holder = reads.get(&SHARD_HOLDERS, shard)?;
            Ok::<_, StoreError>(holder.unwrap_or_default().0)
        };
        for shard in &self.take {
            if holder(shard)?.is_none_or(|it| !living.contains(&it)) {
                writes.push(SHARD_HOLDERS.put(shard, &ShardHolder(Some(self.node))));
            }
        }
        for shard in &self.release {
            if holder(shard)? == Some(self.node) {
                writes.push(SHARD_HOLDERS.put(shard, &ShardHolder(None)));
            }
        }
        Ok((writes, ()))
    }
}
