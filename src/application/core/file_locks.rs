//! One lock per uploaded file while a call submits it as a batch, so that a retry finds the batch of the first call, on any node.

use super::change_lock::{ChangeGuard, NodeLocks};
use crate::application::error::Error;
use std::sync::Arc;
use std::time::Duration;
use tintype_actors::process_context::ProcessContext;
use tintype_fair_semaphore::FairSemaphore;
use tintype_storage::domain::ids::FileId;
use tintype_storage::domain::lock::LockName;
use tokio::time::Instant;

/// How long a call waits for a call at another node. Reading a large file takes long.
const MAX_WAIT: Duration = Duration::from_secs(60);

pub struct FileLocks {
    local: FairSemaphore<FileId>,
    /// `None` if this process alone uses the store.
    nodes: Option<Arc<NodeLocks>>,
}

impl FileLocks {
    pub fn new(process: &ProcessContext) -> Self {
        Self {
            local: FairSemaphore::per_key(1),
            nodes: NodeLocks::of(process),
        }
    }

    /// # Errors
    /// `Overloaded` if a call at another node takes too long.
    pub async fn lock(&self, file: FileId) -> Result<ChangeGuard, Error> {
        let local = Box::new(self.local.acquire(file, 1).await);
        match &self.nodes {
            None => Ok(ChangeGuard::in_process(local)),
            Some(nodes) => {
                let until = Instant::now() + MAX_WAIT;
                nodes.lock(local, LockName::File(file), until).await
            }
        }
    }
}
