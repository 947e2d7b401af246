//! Changes that go on though their caller leaves.
//!
//! When a connection closes, its handler is dropped wherever it waits. A commit that it has handed over becomes true all the
//! same. So whatever has to follow a commit belongs to the commit and not to the handler: what memory learns, how long others
//! wait for their turn, and that a failure ends the process.

use super::error::{Error, ErrorKind};
use std::sync::Arc;
use tintype_storage::store::Writes;
use tokio::sync::{Mutex, OwnedMutexGuard};

/// Turns at changing records that several callers may change: read, decide and write are one step.
#[derive(Clone, Default)]
pub struct Turns(Arc<Mutex<()>>);

/// Nobody else changes these records for as long as it is there.
#[derive(Debug)]
pub struct Turn {
    _held: OwnedMutexGuard<()>,
}

impl Turns {
    /// Waits for the turn. It is given to a [`Change`], which keeps it until the commit has ended.
    pub async fn take(&self) -> Turn {
        Turn {
            _held: Arc::clone(&self.0).lock_owned().await,
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
    let broken = |_| {
        let detail = "the call could not be finished; try again";
        E::from(Error::new(ErrorKind::Internal, detail))
    };
    tokio::task::spawn_local(work).await.map_err(broken)?
}
