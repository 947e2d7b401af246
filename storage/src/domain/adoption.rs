//! Adoption: converts the records of a single-process store for nodes that share it.
//!
//! A single process keeps its queue in memory and one index of all due deliveries. Nodes keep both in the store. The first
//! nodes that join write them step by step, and decide nothing before the adoption is done.

use super::ids::{AccountId, JobId};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Adoption {
    /// Live jobs up to `after` have queue entries.
    Jobs {
        after: Option<(AccountId, JobId)>,
    },
    /// All live jobs have queue entries; pending deliveries are next.
    Deliveries,
    Done,
}

impl Default for Adoption {
    /// No node has joined the store yet.
    fn default() -> Self {
        Self::Jobs { after: None }
    }
}
