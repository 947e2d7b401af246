//! Typed records over any engine: queries, and the writes of one decision.

mod account_decisions;
mod accounts;
mod api_keys;
mod batches;
mod codec;
mod commands;
mod commit;
mod daily_usage;
mod decision;
mod deleted_images;
mod deliveries;
mod due_index;
mod erasure;
mod favourites;
mod file_batches;
mod idempotency;
mod job_lists;
mod jobs;
mod marks;
mod old_jobs;
mod operator_events;
mod people;
mod records;
mod refunds;
mod round_reads;
mod search_index;
mod table;
mod table_key;
pub mod tables;
mod webhooks;

pub use account_decisions::{
    AccountState, Decisions, InitialReads, MAX_KEYS_WITH_LIVE_JOBS, RoundOutcome, SharedState,
    StateChange,
};
pub use api_keys::{BeforeJobs, KeyName, KeyWithAccount};
pub use commands::{
    AcceptError, AcceptedBatch, AcceptedJob, AccountChanged, BatchError, CommandError, Deposit,
    DepositError, EventError, IdempotencyUse, Limits, LiveJobs, NewBatch, NewBatchJob, NewJob,
    Refund, RefundError,
};
pub use decision::Decision;
pub use deliveries::DeletionStep;
pub use erasure::{AttemptErasure, is_subject_erased, request_subject};
pub use favourites::MAX_FAVOURITES;
pub use job_lists::JobWindow;
pub use jobs::{JobRange, Part, StoredJob};
pub use old_jobs::JobDeletion;
pub(crate) use people::email_hash;
pub use records::{
    DailyUsageKey, DueEntry, Generation, IdempotencyKey, IdempotencyRecord, IdempotentCall, Made,
    Mark, PersonRef,
};
pub use round_reads::{Gather, Pairs, ReadSet, RoundReads};
pub use search_index::SearchStep;
pub(crate) use table::each_pair;
pub use table::{AnyTable, Page, Record, RecordJsonError, Table};
pub use table_key::{All, KeyBytes, TableKey, Under};
pub use webhooks::MAX_WEBHOOKS;

use crate::domain::backend_pauses::BackendPauses;
use crate::domain::ids::AccountId;
use crate::domain::pause::Pause;
use crate::engine::{Engine, EngineError, OnFailure};
pub use crate::engine::{Write, Writes};
use std::sync::Arc;
use tables::{BACKEND_PAUSES, PAUSE};

#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A record cannot be decoded.
    #[error("a damaged {kind} record: {reason}; run `tintype verify` and restore a backup")]
    Damaged {
        /// The table's name.
        kind: &'static str,
        reason: String,
    },
    /// A newer version of Tintype wrote a record in a format that this version does not know.
    #[error(
        "a newer version of Tintype wrote this {kind} record (format {found}; this version reads formats up to {newest}); \
         run that version again: nothing is damaged"
    )]
    NewerFormat {
        /// The table's name.
        kind: &'static str,
        found: u8,
        newest: u8,
    },
    /// A decision needs a record that was not read for it. The round reads the record and decides again.
    #[error("a record has not been read")]
    NotRead,
    /// An invariant is violated. Nothing was written.
    #[error("the ledger of account {account} is inconsistent: {fault}; run `tintype verify`")]
    Inconsistent { account: AccountId, fault: String },
}

/// Typed access to an engine. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    engine: Arc<dyn Engine>,
    on_failure: OnFailure,
}

impl Store {
    pub fn new(engine: Arc<dyn Engine>) -> Self {
        Self {
            engine,
            on_failure: Arc::new(|_| {}),
        }
    }

    pub fn engine(&self) -> &Arc<dyn Engine> {
        &self.engine
    }

    pub async fn pause(&self) -> Result<Pause, StoreError> {
        Ok(PAUSE.get(self, &()).await?.unwrap_or_default())
    }

    pub async fn backend_pauses(&self) -> Result<BackendPauses, StoreError> {
        Ok(BACKEND_PAUSES.get(self, &()).await?.unwrap_or_default())
    }
}
