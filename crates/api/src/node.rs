//! Nodes: the processes that share a database.

use crate::schema::Count;
use crate::text::{Id, Moment, NodeWord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The nodes that share the records.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Nodes {
    /// The nodes as the responding node sees them, in the order of their starts. A process with a local store lists only itself.
    pub data: Vec<Node>,
    /// Are the records in a database that several nodes can share?
    pub shared: bool,
    /// Problems to look into: nodes with different versions or configurations, or a node that does not answer.
    pub warnings: Vec<String>,
}

/// A node: a process that serves the records.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Node {
    /// New at each start. `null` for a process with a local store.
    pub node_id: Option<Id>,
    /// Is this the node that answers the request?
    pub answers: bool,
    /// `leaving`: the node accepts no more jobs and stops after its running ones. `dead`: the other nodes requeue its jobs.
    pub state: NodeWord,
    /// The version of the program.
    pub version: String,
    /// The host name.
    pub host: String,
    /// The process id.
    pub pid: u32,
    /// When the node started, by its own clock.
    pub started_at: Moment,
    /// The number of running jobs.
    #[schemars(with = "Count")]
    pub running: u64,
    /// The age of the last heartbeat, by the clock of the responding node.
    #[schemars(with = "Count")]
    pub beat_age_ms: u64,
    /// A fingerprint of the configuration, equal on all nodes with the same configuration. It reveals no secret.
    pub configuration: String,
}
