//! Nodes: processes that share one store, and what they keep of accounts there.
//!
//! A process that is the only one on its store keeps all of this in memory.

use super::amount::Amount;
use super::ids::{AccountId, KeyId, NodeId};
use super::job::Job;
use super::queue_place::{QueueClass, Turns};
use super::tier::Tier;
use super::time::Timestamp;
use serde::{Deserialize, Serialize};

/// A node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Rises for as long as the node lives: the others see by it that it does.
    pub beat: u64,
    /// Another node has taken it for dead, and the jobs that it had taken are yet to be put back. Nothing of it is committed any
    /// more.
    pub has_ended: bool,
    /// It takes no more jobs, and will be gone once its runs have ended.
    pub is_leaving: bool,
    /// Jobs that it runs, as of its beat.
    pub running: u64,
    pub process: NodeProcess,
}

impl Node {
    /// A node that has just joined.
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

/// The process that a node is, for the operator. No decision depends on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeProcess {
    pub version: String,
    /// The name of its machine.
    pub host: String,
    pub pid: u32,
    /// By its own clock.
    pub started_at: Timestamp,
    /// The same for all processes that are configured alike; it tells no secret.
    pub configuration: String,
}

impl Default for NodeProcess {
    /// One that says nothing of itself.
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

/// A job that a node has taken from the queue and that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenJob {
    pub account: AccountId,
    pub tier: Tier,
    /// The class that it was taken from.
    pub class: QueueClass,
}

/// A caller who waits on a connection to a node for the end of a synchronous job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingCaller {
    pub node: NodeId,
    pub account: AccountId,
}

/// The sums over an account's jobs that are not terminal, so that no node has to read all of them for a decision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountLoad {
    pub live_jobs: u64,
    /// The keys that have live jobs.
    pub keys: Vec<KeyLoad>,
    /// The newest turns of the account's jobs, by tier.
    pub turns: [Turns; 3],
    /// No id of the account is from a later moment, also none that another node made by its own clock.
    pub newest: Option<Timestamp>,
    /// Which node has decided last.
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

    /// Jobs of one key that are not terminal.
    pub fn live_jobs_of(&self, key: KeyId) -> usize {
        let load = self.keys.iter().find(|it| it.key == key);
        load.map_or(0, |it| it.live_jobs as usize)
    }
}

/// The same over the jobs of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyLoad {
    pub key: KeyId,
    pub live_jobs: u64,
    /// The sum of their prices.
    pub held: Amount,
}
