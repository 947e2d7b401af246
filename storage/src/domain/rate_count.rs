//! How many calls a node has admitted lately, so that the rate limits of keys hold over all nodes.

use super::api_key::RateLimit;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// What a rate limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Limited {
    /// The calls of a key.
    Key,
    /// The calls of all keys of an account.
    Account,
    /// The calls that fetch input images, of a key without a limit.
    Fetches,
    /// The changes of a person.
    Changes,
}

/// What a node has admitted against one limit since its bucket was last full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateCount {
    pub limited: Limited,
    /// The key, the account or the person.
    pub id: Uuid,
    pub rate: RateLimit,
    pub admitted: u64,
}

/// A part of what a node tells the others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateCounts {
    pub counts: Vec<RateCount>,
}

impl RateCounts {
    /// So many fit into one record.
    pub const MAX: usize = 256;
}
