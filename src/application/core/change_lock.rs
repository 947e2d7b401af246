//! Locks on records that several callers change: callers of this process and, if several nodes share the store, of all nodes.

use crate::application::error::{self, Error, ErrorKind};
use std::sync::Arc;
use std::time::Duration;
use tintype_actors::clock::Clock;
use tintype_actors::node::NodeContext;
use tintype_actors::nodes::locks::{self, LockOutcome};
use tintype_actors::process_context::ProcessContext;
use tintype_storage::domain::ids::{IdSource, moment_of};
use tintype_storage::domain::lock::LockName;
use tintype_storage::store::{Store, Write, Writes};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, timeout};

/// How long a call waits for a lock that other nodes hold.
const MAX_WAIT: Duration = Duration::from_secs(5);
/// Seconds for `Retry-After` once a call has waited this long.
const RETRY_AFTER: u32 = 2;
/// The pause between attempts to take a lock doubles from this.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const MAX_PAUSE: Duration = Duration::from_millis(50);

/// A lock on records that several callers change, so that read, decide and write are one step.
#[derive(Clone)]
pub struct ChangeLock {
    local: Arc<Mutex<()>>,
    name: LockName,
    /// `None` if this process alone uses the store.
    nodes: Option<Arc<NodeLocks>>,
}

/// Takes locks that span several nodes.
pub(super) struct NodeLocks {
    node: Arc<NodeContext>,
    store: Store,
    clock: Clock,
    ids: Arc<IdSource>,
}

/// Blocks the other callers of this process.
pub(super) type ProcessGuard = Box<dyn Send>;

/// Exclusive access to the records of a [`ChangeLock`].
pub struct ChangeGuard {
    local: Option<ProcessGuard>,
    lock: Option<HeldLock>,
}

/// A lock that this node holds.
struct HeldLock {
    name: LockName,
    nodes: Arc<NodeLocks>,
}

impl ChangeLock {
    /// Excludes the callers of this process and, if several nodes share the store, those of all nodes.
    pub fn new(name: LockName, process: &ProcessContext) -> Self {
        Self {
            local: Arc::default(),
            name,
            nodes: NodeLocks::of(process),
        }
    }

    /// Waits for the lock. A [`Change`](super::commit::Change) takes the guard and releases it after the commit.
    ///
    /// # Errors
    /// `Overloaded` on a timeout, if several nodes share the store. A single process waits without a timeout.
    pub async fn lock(&self) -> Result<ChangeGuard, Error> {
        let local = Arc::clone(&self.local).lock_owned();
        let Some(nodes) = &self.nodes else {
            return Ok(ChangeGuard::in_process(Box::new(local.await)));
        };
        let until = Instant::now() + MAX_WAIT;
        let local = timeout(MAX_WAIT, local).await;
        let local = local.map_err(|_| lock_timeout())?;
        nodes.lock(Box::new(local), self.name, until).await
    }
}

impl NodeLocks {
    /// `None` if this process alone uses the store.
    pub(super) fn of(process: &ProcessContext) -> Option<Arc<Self>> {
        let node = process.node.as_ref()?;
        Some(Arc::new(Self {
            node: Arc::clone(node),
            store: process.store.clone(),
            clock: Arc::clone(&process.clock),
            ids: Arc::clone(&process.ids),
        }))
    }

    /// Waits for the lock over all nodes. The caller already holds it within this process.
    ///
    /// # Errors
    /// `Overloaded`
    pub(super) async fn lock(
        self: &Arc<Self>,
        local: ProcessGuard,
        name: LockName,
        until: Instant,
    ) -> Result<ChangeGuard, Error> {
        // Spawned, so that a caller that disconnects meanwhile leaks no lock.
        let taking = wait_for_lock(local, name, Arc::clone(self), until);
        tokio::spawn(taking)
            .await
            .unwrap_or_else(|_| Err(error::internal()))
    }
}

async fn wait_for_lock(
    local: ProcessGuard,
    name: LockName,
    nodes: Arc<NodeLocks>,
    until: Instant,
) -> Result<ChangeGuard, Error> {
    let mut pause = FIRST_PAUSE;
    loop {
        let taken = locks::take(&nodes.store, nodes.node.id, name).await?;
        if let LockOutcome::Yes { newest } = taken {
            newest.into_iter().for_each(|it| nodes.ids.raise(it));
            return Ok(ChangeGuard {
                local: Some(local),
                lock: Some(HeldLock { name, nodes }),
            });
        }
        if Instant::now() >= until {
            return Err(match taken {
                LockOutcome::Yes { .. } | LockOutcome::Held => lock_timeout(),
                LockOutcome::NotJoined => not_joined(),
            });
        }
        // Jitter, so that two nodes do not retry in step.
        sleep(pause.mul_f64(rand::random_range(0.5..1.5))).await;
        pause = MAX_PAUSE.min(pause * 2);
    }
}

fn lock_timeout() -> Error {
    let detail = "other changes are still in progress; try again in a moment";
    Error::new(ErrorKind::Overloaded, detail).retry_after(RETRY_AFTER)
}

fn not_joined() -> Error {
    let detail = "this node of the service is starting or stopping; try again in a moment";
    Error::new(ErrorKind::Overloaded, detail).retry_after(RETRY_AFTER)
}

impl HeldLock {
    fn release(&self) -> Write {
        let NodeLocks { clock, ids, .. } = &*self.nodes;
        // Later than every id issued under the lock.
        let newest = moment_of(&ids.next(clock()));
        locks::release(self.name, newest)
    }
}

impl ChangeGuard {
    /// A guard for a process that alone uses the store.
    pub(super) fn in_process(local: ProcessGuard) -> Self {
        Self {
            local: Some(local),
            lock: None,
        }
    }

    /// Adds the release of the database lock, if there is one, to the writes that were decided under it.
    pub(crate) fn add_release(&self, writes: &mut Writes) {
        writes.extend(self.lock.as_ref().map(HeldLock::release));
    }

    /// Call after the commit that contains the release.
    pub(crate) fn mark_released(mut self) {
        self.lock = None;
    }

    /// May another node have taken the lock over, because it considers this node dead? The engine then refuses commits of this node;
    /// other side effects must not happen.
    pub fn may_be_lost(&self) -> bool {
        let lock = self.lock.as_ref();
        lock.is_some_and(|it| !it.nodes.node.is_trusted())
    }
}

impl Drop for ChangeGuard {
    /// Nothing was committed under the lock: releases it.
    fn drop(&mut self) {
        let local = self.local.take();
        if let Some(lock) = self.lock.take() {
            let writes = vec![lock.release()];
            // The callers of this process wait until the database lock is free.
            lock.nodes.store.commit(writes, move |_| drop(local));
        }
    }
}
