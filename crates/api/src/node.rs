//! The processes that share the records.

use crate::schema::Count;
use crate::text::{Id, Moment, NodeWord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The processes that serve the same records.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Nodes {
    /// The nodes, as the one that answers sees them, in the order of their starts. A process that keeps its records in its own
    /// directory is listed alone.
    pub data: Vec<Node>,
    /// Are the records in a database, which several nodes can share?
    pub shared: bool,
    /// What is to be looked into: nodes of different versions, or with different configurations, or one that does not answer.
    pub warnings: Vec<String>,
}

/// A process that serves the records.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Node {
    /// Made anew at each start. `null` for a process that shares its records with no other.
    pub node_id: Option<Id>,
    /// Is it the one that answers this call?
    pub answers: bool,
    /// `leaving` takes no more jobs and ends once its runs have; the jobs of a `dead` one are being put back into the queue.
    pub state: NodeWord,
    /// The version of the program.
    pub version: String,
    /// The name of its machine.
    pub host: String,
    /// The process there.
    pub pid: u32,
    /// When it started, by its own clock.
    pub started_at: Moment,
    /// Jobs that it runs.
    #[schemars(with = "Count")]
    pub running: u64,
    /// How long ago the node that answers saw its last sign of life, by its own clock.
    #[schemars(with = "Count")]
    pub beat_age_ms: u64,
    /// The same for all nodes that are configured alike. It tells no secret.
    pub configuration: String,
}
