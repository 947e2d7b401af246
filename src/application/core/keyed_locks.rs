//! One lock for each file or account, so that calls for different ones do not wait for each other.

use super::change_lock::{ChangeGuard, NodeLocks};
use crate::application::error::Error;
use std::sync::Arc;
use std::time::Duration;
use tintype_actors::process_context::ProcessContext;
use tintype_fair_semaphore::FairSemaphore;
use tintype_storage::domain::lock::LockName;
use tokio::time::Instant;

/// How long a call waits for a call at another node. Reading a large file takes long.
const MAX_WAIT: Duration = Duration::from_secs(60);

pub struct KeyedLocks<K: Eq + Copy> {
    local: FairSemaphore<K>,
    name: fn(K) -> LockName,
    /// `None` if this process alone uses the store.
    nodes: Option<Arc<NodeLocks>>,
}

impl<K: Eq + Copy + Send + 'static> KeyedLocks<K> {
    pub fn new(name: fn(K) -> LockName, process: &ProcessContext) -> Self {
        Self {
            local: FairSemaphore::per_key(1),
            name,
            nodes: NodeLocks::of(process),
        }
    }

    /// # Errors
    /// `Overloaded` if calls at other nodes take too long.
    pub async fn lock(&self, key: K) -> Result<ChangeGuard, Error> {
        // Calls of this node wait at the same time, so that they do not fail one after another.
        let until = Instant::now() + MAX_WAIT;
        let local = Box::new(self.local.acquire(key, 1).await);
        match &self.nodes {
            None => Ok(ChangeGuard::in_process(local)),
            Some(nodes) => nodes.lock(local, (self.name)(key), until).await,
        }
    }
}
