//! Selects the one node that maintains the store: sweeps it, builds the search index and checks the disk. Several maintainers would
//! repeat the same work.

use crate::application::core::Core;
use std::sync::atomic::{AtomicBool, Ordering};
use tintype_actors::nodes::locks::{self, LockOutcome};
use tintype_storage::domain::lock::LockName;

/// Whether this process is the maintainer.
pub struct Maintainer(AtomicBool);

impl Maintainer {
    /// A process that alone uses the store maintains it. With several nodes, the holder of the lock does.
    pub fn new(is_alone: bool) -> Self {
        Self(AtomicBool::new(is_alone))
    }

    pub fn is_this_node(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Takes the lock if its holder is dead. A holder keeps it until it stops.
    pub async fn try_acquire(&self, core: &Core) {
        let system = &core.system;
        // A leaving node is about to close the store.
        let Some(node) = system.node().filter(|it| !it.is_leaving()) else {
            return;
        };
        let is_new = match locks::take(system.store(), node.id, LockName::Maintenance).await {
            Ok(LockOutcome::Yes { .. }) => true,
            Ok(LockOutcome::Held | LockOutcome::NotJoined) => false,
            Err(error) => {
                if !core.is_ending() {
                    tracing::warn!(%error, "could not take the maintenance lock");
                }
                false
            }
        };
        let was = self.0.swap(is_new, Ordering::Relaxed);
        if is_new && !was {
            tracing::info!(node = %node.id, "this node is now responsible for maintenance");
        }
    }
}
