//! Changes that go on though their caller leaves.
//!
//! When a connection closes, its handler is dropped wherever it waits. A commit that it has handed over becomes true all the
//! same. So whatever has to follow a commit belongs to the commit and not to the handler: what memory learns, how long others
//! wait for their turn, and that a failure ends the process.

use super::error::{Error, ErrorKind};
use std::sync::Arc;
use std::time::Duration;
use tintype_actors::account::AccountContext;
use tintype_actors::clock::Clock;
use tintype_actors::node::NodeContext;
use tintype_actors::nodes::locks::{self, Taken};
use tintype_storage::domain::ids::{IdSource, moment_of};
use tintype_storage::domain::lock::LockName;
use tintype_storage::store::{Store, Write, Writes};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, timeout};

/// How long a call waits for the turns of other nodes.
const PATIENCE: Duration = Duration::from_secs(5);
/// Seconds after which a call that has waited for so long may come again.
const RETRY_AFTER: u32 = 2;
/// The first pause between two looks at a lock that another node has.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
/// The longest one.
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// Turns at changing records that several callers may change: read, decide and write are one step.
#[derive(Clone)]
pub struct Turns {
    own: Arc<Mutex<()>>,
    name: LockName,
    /// `None` where this process is the only one on the store.
    nodes: Option<Arc<Nodes>>,
}

/// What turns over several nodes need.
pub(super) struct Nodes {
    node: Arc<NodeContext>,
    store: Store,
    clock: Clock,
    ids: Arc<IdSource>,
}

/// What keeps the other callers of this process waiting.
pub(super) type OwnTurn = Box<dyn Send>;

/// Nobody else changes these records for as long as it is there.
pub struct Turn {
    own: Option<OwnTurn>,
    lock: Option<HeldLock>,
}

/// A lock that this node has.
struct HeldLock {
    name: LockName,
    nodes: Arc<Nodes>,
}

impl Turns {
    /// Turns of the callers of this process, and where several nodes share the store, of those of all nodes.
    pub fn new(name: LockName, context: &AccountContext) -> Self {
        Self {
            own: Arc::default(),
            name,
            nodes: Nodes::of(context),
        }
    }

    /// Waits for the turn. It is given to a [`Change`], which keeps it until the commit has ended.
    ///
    /// # Errors
    /// `Overloaded` where callers of other nodes keep their turns for too long. The process on its own waits.
    pub async fn take(&self) -> Result<Turn, Error> {
        let own = Arc::clone(&self.own).lock_owned();
        let Some(nodes) = &self.nodes else {
            return Ok(Turn::of_process(Box::new(own.await)));
        };
        let until = Instant::now() + PATIENCE;
        let own = timeout(PATIENCE, own).await;
        let own = own.map_err(|_| too_long())?;
        nodes.take(Box::new(own), self.name, until).await
    }
}

impl Nodes {
    /// `None` where this process is the only one on the store.
    pub(super) fn of(context: &AccountContext) -> Option<Arc<Self>> {
        let node = context.node.as_ref()?;
        Some(Arc::new(Self {
            node: Arc::clone(node),
            store: context.store.clone(),
            clock: Arc::clone(&context.clock),
            ids: Arc::clone(&context.ids),
        }))
    }

    /// Waits for a turn over all nodes, for a caller whose turn it is in this process.
    ///
    /// # Errors
    /// `Overloaded`
    pub(super) async fn take(
        self: &Arc<Self>,
        own: OwnTurn,
        name: LockName,
        until: Instant,
    ) -> Result<Turn, Error> {
        // A task of its own, so that a caller who leaves meanwhile leaves no lock behind.
        let taking = take_lock(own, name, Arc::clone(self), until);
        tokio::spawn(taking).await.unwrap_or_else(|_| Err(broken()))
    }
}

async fn take_lock(
    own: OwnTurn,
    name: LockName,
    nodes: Arc<Nodes>,
    until: Instant,
) -> Result<Turn, Error> {
    let mut pause = FIRST_PAUSE;
    loop {
        let taken = locks::take(&nodes.store, nodes.node.id, name).await?;
        if let Taken::Yes { newest } = taken {
            newest.into_iter().for_each(|it| nodes.ids.raise(it));
            return Ok(Turn {
                own: Some(own),
                lock: Some(HeldLock { name, nodes }),
            });
        }
        if Instant::now() >= until {
            return Err(match taken {
                Taken::Yes { .. } | Taken::Held => too_long(),
                Taken::NotJoined => not_joined(),
            });
        }
        // Not the same for all, so that two nodes do not miss every free moment together.
        sleep(pause.mul_f64(rand::random_range(0.5..1.5))).await;
        pause = LONGEST_PAUSE.min(pause * 2);
    }
}

fn too_long() -> Error {
    let detail = "other changes of this kind take too long; try again in a moment";
    Error::new(ErrorKind::Overloaded, detail).retry_after(RETRY_AFTER)
}

fn not_joined() -> Error {
    let detail =
        "this node of the service has not started yet, or is about to stop; try again in a moment";
    Error::new(ErrorKind::Overloaded, detail).retry_after(RETRY_AFTER)
}

fn broken() -> Error {
    let detail = "the call could not be finished; try again";
    Error::new(ErrorKind::Internal, detail)
}

impl HeldLock {
    fn release(&self) -> Write {
        let Nodes { clock, ids, .. } = &*self.nodes;
        // Later than all that was made in the turn.
        let newest = moment_of(&ids.next(clock()));
        locks::release(self.name, newest)
    }
}

impl Turn {
    /// A turn among the callers of this process, which is the only one on the store.
    pub(super) fn of_process(own: OwnTurn) -> Self {
        Self {
            own: Some(own),
            lock: None,
        }
    }

    /// Adds to the writes that were decided in the turn what ends it, where several nodes take turns.
    pub(super) fn end_with(&self, writes: &mut Writes) {
        writes.extend(self.lock.as_ref().map(HeldLock::release));
    }

    /// The commit that ends the turn has ended.
    pub(super) fn ended(mut self) {
        self.lock = None;
    }

    /// May others have taken the turn over, because they take this node for dead? What is committed then is refused, and what is no
    /// commit must not be done.
    pub fn is_doubtful(&self) -> bool {
        let lock = self.lock.as_ref();
        lock.is_some_and(|it| !it.nodes.node.is_trusted())
    }
}

impl Drop for Turn {
    /// Nothing was committed: the turn ends by itself.
    fn drop(&mut self) {
        let own = self.own.take();
        if let Some(lock) = self.lock.take() {
            let writes = vec![lock.release()];
            // The callers of this process wait until the lock is free.
            lock.nodes.store.commit(writes, move |_| drop(own));
        }
    }
}

pub(super) type Learn = Box<dyn FnOnce() + Send>;

/// Writes with what follows them.
pub struct Change {
    pub(super) writes: Writes,
    pub(super) turn: Option<Turn>,
    pub(super) learn: Option<Learn>,
}

impl From<Writes> for Change {
    /// Of records that nobody else changes, and that nothing in memory is a copy of.
    fn from(writes: Writes) -> Self {
        Self {
            writes,
            turn: None,
            learn: None,
        }
    }
}

impl Change {
    /// The turn in which the writes were decided: the next one begins when they are on the disk.
    pub fn in_turn(turn: Turn, writes: Writes) -> Self {
        Self {
            turn: Some(turn),
            ..Self::from(writes)
        }
    }

    /// What memory learns, once the writes are on the disk and before anybody is told so. It is done by the engine's thread:
    /// it must be quick, and must not call the engine.
    pub fn then(self, learn: impl FnOnce() + Send + 'static) -> Self {
        Self {
            learn: Some(Box::new(learn)),
            ..self
        }
    }
}

/// Does work to its end, also when the caller leaves meanwhile: for what takes more than one commit, or is no commit at all.
///
/// # Errors
/// Those of the work, and an internal one where it has panicked.
pub async fn detached<T: 'static, E: From<Error> + 'static>(
    work: impl Future<Output = Result<T, E>> + 'static,
) -> Result<T, E> {
    tokio::task::spawn_local(work)
        .await
        .map_err(|_| E::from(broken()))?
}
