//! Records by name, over any engine: what can be read, and which writes belong to one decision.

mod accounts;
mod api_keys;
mod audit_log;
mod book;
mod codec;
mod commands;
mod deliveries;
mod forms;
mod idempotency;
mod job_lists;
mod jobs;
pub(crate) mod keys;
#[cfg(feature = "testing")]
pub mod migrations;
mod people;
mod scan;
mod tallies;
mod webhooks;

pub use book::{AccountBook, Batch};
pub use codec::{Record, decode, encode};
pub use commands::{
    AcceptError, Accepted, AccountChanged, Deposit, DepositError, EventError, IdempotencyUse,
    Limits, NewJob,
};
pub use deliveries::{DueDelivery, Forgotten};
pub use forms::Form;
pub use idempotency::{IdempotencyRecord, IdempotentCall, SERVICE};
pub use job_lists::{JobPage, JobWindow};
pub use jobs::Part;
pub(crate) use keys::Kind;
pub use people::{Generation, PersonPlace};
pub use scan::Page;
pub use tallies::{Mark, TallyPlace};
pub use webhooks::MAX_WEBHOOKS;

use crate::domain::ids::AccountId;
use crate::domain::pause::Pause;
use crate::engine::{Engine, EngineError, Key, Value};
use std::sync::Arc;

/// The writes of one decision.
pub type Writes = Vec<(Key, Option<Value>)>;

const PAUSE: &str = "pause";

/// Why the store could not answer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A record cannot be read.
    #[error("a damaged {kind} record: {reason}; run `tintype verify` and restore a backup")]
    Damaged {
        /// What it was to be.
        kind: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A rule that always holds does not. Nothing was written.
    #[error("the books of account {account} do not add up: {fault}; run `tintype verify`")]
    Books {
        /// Whose.
        account: AccountId,
        /// Which rule.
        fault: String,
    },
}

/// Typed access to an engine. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    engine: Arc<dyn Engine>,
}

impl Store {
    /// A store over an engine.
    pub fn new(engine: Arc<dyn Engine>) -> Self {
        Self { engine }
    }

    /// The engine, to submit commits to.
    pub fn engine(&self) -> &Arc<dyn Engine> {
        &self.engine
    }

    /// Which models are paused.
    pub fn pause(&self) -> Result<Pause, StoreError> {
        Ok(self.read(&keys::setting(PAUSE))?.unwrap_or_default())
    }

    /// The writes that set which models are paused.
    pub fn set_pause(&self, pause: &Pause) -> Writes {
        vec![(keys::setting(PAUSE), Some(encode(pause)))]
    }

    fn read<R: Record>(&self, key: &[u8]) -> Result<Option<R>, StoreError> {
        self.engine
            .get(key)?
            .map(|bytes| decode(&bytes))
            .transpose()
    }
}
