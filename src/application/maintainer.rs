//! Which node maintains the store: sweeps it, builds the search index, and looks at the disk. What is done by several nodes at a time
//! would be done several times over.

use std::sync::atomic::{AtomicBool, Ordering};
use tintype_actors::nodes::locks::{self, Taken};
use tintype_actors::system::System;
use tintype_storage::domain::lock::LockName;

/// Is it this process?
pub struct Maintainer(AtomicBool);

impl Maintainer {
    /// A process that is the only one on its store maintains it. One of several nodes does so once it has the lock.
    pub fn new(is_alone: bool) -> Self {
        Self(AtomicBool::new(is_alone))
    }

    pub fn is_this_node(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Takes the maintenance over where the node that had it is gone. A node that has it keeps it for as long as it lives.
    pub async fn look(&self, system: &System) {
        // A node that leaves closes the store.
        let Some(node) = system.node().filter(|it| !it.is_leaving()) else {
            return;
        };
        let is_new = match locks::take(system.store(), node.id, LockName::Maintenance).await {
            Ok(Taken::Yes { .. }) => true,
            Ok(Taken::Held | Taken::NotJoined) => false,
            Err(error) => {
                tracing::warn!(%error, "could not look which node maintains the store");
                false
            }
        };
        let was = self.0.swap(is_new, Ordering::Relaxed);
        if is_new && !was {
            tracing::info!(node = %node.id, "this node maintains the store");
        }
    }
}
