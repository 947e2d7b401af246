//! Nodes: processes that share one store, and the per-account data they keep there.
//!
//! A single process keeps this data in memory.

use super::amount::Amount;
use super::ids::{AccountId, KeyId, NodeId};
use super::job::Job;
use super::queue_entry::{QueueClass, Turns};
use super::tier::Tier;
use super::time::Timestamp;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// The heartbeat: a counter that rises as long as the node lives.
    pub beat: u64,
    /// Another node declared this node dead and has not requeued its jobs yet. Nothing of this node is committed any more.
    pub has_ended: bool,
    /// The node takes no more jobs and leaves when its runs have ended.
    pub is_leaving: bool,
    /// Running jobs at the last heartbeat.
    pub running: u64,
    pub process: NodeProcess,
}

impl Node {
    pub fn new(process: NodeProcess) -> Self {
        Self {
            beat: 0,
            has_ended: false,
            is_leaving: false,
            running: 0,
            process,
        }
    }
}

/// Describes the process for the operator. No decision depends on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeProcess {
    pub version: String,
    /// The host name.
    pub host: String,
    pub pid: u32,
    /// By the node's clock.
    pub started_at: Timestamp,
    /// A digest without secrets: equal for processes with the same configuration.
    pub configuration: String,
}

impl Default for NodeProcess {
    /// An unknown process.
    fn default() -> Self {
        Self {
            version: String::new(),
            host: String::new(),
            pid: 0,
            started_at: Timestamp::from_millis(0),
            configuration: String::new(),
        }
    }
}

/// A job that a node took from the queue and that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenJob {
    pub account: AccountId,
    pub tier: Tier,
    /// The class from which the node took the job.
    pub class: QueueClass,
}

/// A caller who waits at a node for the end of a synchronous job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingCaller {
    pub node: NodeId,
    pub account: AccountId,
}

/// The sums over an account's live jobs, so that a decision need not read all of them. Live means not terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountLoad {
    pub live_jobs: u64,
    /// Keys with live jobs.
    pub keys: Vec<KeyLoad>,
    /// The newest turns of the account's jobs, by tier.
    pub turns: [Turns; 3],
    /// An upper bound of the times in the account's ids, including ids of other nodes with other clocks.
    pub newest: Option<Timestamp>,
    /// The node that committed the last decision.
    pub decided_by: Option<NodeId>,
}

impl AccountLoad {
    /// Counts a live job.
    pub fn add(&mut self, job: &Job) {
        self.live_jobs += 1;
        let at = match self.keys.binary_search_by_key(&job.key, |it| it.key) {
            Ok(at) => at,
            Err(at) => {
                let new = KeyLoad {
                    key: job.key,
                    live_jobs: 0,
                    held: Amount::ZERO,
                };
                self.keys.insert(at, new);
                at
            }
        };
        let key = &mut self.keys[at];
        key.live_jobs += 1;
        key.held = key.held.plus(job.price).unwrap_or(key.held);
    }

    pub fn live_jobs_of(&self, key: KeyId) -> usize {
        self.of_key(key).map_or(0, |it| it.live_jobs as usize)
    }

    /// The reserved prices of one key's live jobs.
    pub fn reserved_of(&self, key: KeyId) -> Amount {
        self.of_key(key).map_or(Amount::ZERO, |it| it.held)
    }

    fn of_key(&self, key: KeyId) -> Option<&KeyLoad> {
        self.keys.iter().find(|it| it.key == key)
    }
}

/// The sums over one key's live jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyLoad {
    pub key: KeyId,
    pub live_jobs: u64,
    /// The sum of the jobs' prices.
    pub held: Amount,
}
