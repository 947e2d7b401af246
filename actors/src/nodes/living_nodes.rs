//! The living nodes, for decisions.

use std::collections::HashSet;
use tintype_storage::domain::ids::NodeId;
use tintype_storage::engine::{Direction, ReadRequest, ReadResults};
use tintype_storage::store::tables::NODES;
use tintype_storage::store::{All, StoreError};

/// The read that [`living_nodes`] needs.
pub fn all_nodes() -> ReadRequest {
    ReadRequest::Scan(NODES.range(&All), Direction::Rising, usize::MAX)
}

/// The recorded nodes that were not declared dead.
///
/// # Errors
/// A record is damaged, or the nodes were not read.
pub fn living_nodes(reads: &ReadResults) -> Result<HashSet<NodeId>, StoreError> {
    let mut living = HashSet::new();
    for (key, value) in reads.pairs(&all_nodes()).ok_or(StoreError::NotRead)? {
        let node = NODES.entry(key, value)?.filter(|(_, it)| !it.has_ended);
        living.extend(node.map(|(id, _)| id));
    }
    Ok(living)
}
