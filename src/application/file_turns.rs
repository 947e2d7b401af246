//! Turns at submitting an uploaded file as a batch: one call at a time for each file, so that a repeated call finds the batch of the
//! first one, also where it comes to another node.

use super::commit::{Nodes, Turn};
use super::error::Error;
use std::sync::Arc;
use std::time::Duration;
use tintype_actors::account::AccountContext;
use tintype_fair_semaphore::FairSemaphore;
use tintype_storage::domain::ids::FileId;
use tintype_storage::domain::lock::LockName;
use tokio::sync::Semaphore;
use tokio::time::Instant;

/// How long a call waits for one at another node. A large file takes long to read.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct FileTurns {
    own: FairSemaphore<FileId>,
    /// `None` where this process is the only one on the store.
    nodes: Option<Arc<Nodes>>,
}

impl FileTurns {
    pub fn new(context: &AccountContext) -> Self {
        Self {
            own: FairSemaphore::new(Semaphore::MAX_PERMITS as u64, 1),
            nodes: Nodes::of(context),
        }
    }

    /// Waits for the turn, which lasts until it is dropped.
    ///
    /// # Errors
    /// `Overloaded` where a call at another node takes too long.
    pub async fn take(&self, file: FileId) -> Result<Turn, Error> {
        let own = Box::new(self.own.acquire(file, 1).await);
        match &self.nodes {
            None => Ok(Turn::of_process(own)),
            Some(nodes) => {
                let until = Instant::now() + PATIENCE;
                nodes.take(own, LockName::File(file), until).await
            }
        }
    }
}
