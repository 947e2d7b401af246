//! Adoption: the records of a process that had its store for itself become those of nodes that share it.
//!
//! Such a process keeps its queue in memory, and one index of all due deliveries. Nodes have both in the store. The first ones that join
//! make them, step by step; none of them decides anything else before.

use super::ids::{AccountId, JobId};
use serde::{Deserialize, Serialize};

/// How far a store has been adopted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Adoption {
    /// The live jobs up to this one have their places.
    Jobs {
        after: Option<(AccountId, JobId)>,
    },
    /// All live jobs have, and the pending deliveries are next.
    Deliveries,
    Done,
}

impl Default for Adoption {
    /// Of a store that no node has joined.
    fn default() -> Self {
        Self::Jobs { after: None }
    }
}
