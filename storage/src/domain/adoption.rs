//! Adoption: converts the records of a single-process store for nodes that share it.
//!
//! A single process keeps its queue in memory, and nodes keep it in the store. The first nodes that join write it step by step, and
//! decide nothing before the adoption is done.

use super::ids::{AccountId, JobId};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Adoption {
    /// Live jobs up to `after` have queue entries.
    Jobs {
        after: Option<(AccountId, JobId)>,
    },
    Done,
}

impl Default for Adoption {
    /// No node has joined the store yet.
    fn default() -> Self {
        Self::Jobs { after: None }
    }
}
