//! The living nodes, for decisions.

use std::collections::HashSet;
use tintype_storage::domain::ids::NodeId;
use tintype_storage::engine::ReadResults;
use tintype_storage::store::StoreError;
use tintype_storage::store::tables::NODES;

/// The recorded nodes that were not declared dead. The round has read [`NODES`].
///
/// # Errors
/// A record is damaged, or the nodes were not read.
pub fn living_nodes(reads: &ReadResults) -> Result<HashSet<NodeId>, StoreError> {
    let nodes = NODES.entries_of_reads(reads, &NODES.request_all())?;
    let living = nodes.into_iter().filter(|(_, it)| !it.has_ended);
    Ok(living.map(|(id, _)| id).collect())
}
