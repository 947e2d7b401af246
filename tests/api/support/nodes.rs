//! Several servers as nodes on the same records.

use super::options::Options;
use super::server::Server;
use std::sync::Arc;
use tintype_storage::engine::{Engine, Holds};
use tintype_storage::testing::layer::Layer;
use tintype_storage::testing::memory::MemoryEngine;

/// In-memory records that several servers share and that outlive each server.
#[derive(Default)]
pub struct SharedRecords {
    memory: Arc<MemoryEngine>,
    holds: Arc<Holds>,
}

impl Layer for SharedRecords {
    fn inner(&self) -> Arc<dyn Engine> {
        Arc::clone(&self.memory) as Arc<dyn Engine>
    }

    fn holds(&self) -> &Arc<Holds> {
        &self.holds
    }

    fn close(&self) {}
}

pub fn two_nodes(options: Options) -> [Server; 2] {
    let options = options.set("cluster.dead_after_seconds", 2).shared();
    [(); 2].map(|()| Server::node(options.clone()))
}
