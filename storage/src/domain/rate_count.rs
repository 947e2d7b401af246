//! Recently admitted calls per node, so that rate limits hold over all nodes.

use super::api_key::RateLimit;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum LimitKind {
    /// The calls of a key.
    Key,
    /// The calls of all keys of an account.
    Account,
    /// The calls of an unlimited key that fetch input images.
    Fetches,
    /// The changes of a person.
    Changes,
}

/// Calls that a node admitted against one limit since the limit's bucket was last full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateCount {
    pub limited: LimitKind,
    /// The id of the key, account or person.
    pub id: Uuid,
    pub rate: RateLimit,
    pub admitted: u64,
}

/// One record of the counts that a node shares with the others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateCounts {
    pub counts: Vec<RateCount>,
}

impl RateCounts {
    /// Maximum number of counts in one record.
    pub const MAX: usize = 256;
}
