//! State of the synchronous APIs, shared by all workers.

use super::disconnect::{self, Disconnect};
use super::recent_calls::{RecentCalls, RefusedCalls, RequestIdentity};
use crate::application::core::Core;
use crate::application::file_batches::RETRY_WINDOW;
use crate::application::services::{AccountService, GenerationService, JobService};
use crate::application::settings::Settings;
use actix_web::rt::spawn;
use actix_web::web::Data;
use std::sync::Arc;
use std::time::Duration;
use tintype_fair_semaphore::FairSemaphore;
use tintype_storage::domain::file_batch::FileBatchTerms;
use tintype_storage::domain::ids::{AccountId, FileId, JobId, KeyId};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

/// How long a repeated request gets the image of an earlier one.
const IMAGE_RETENTION: Duration = Duration::from_secs(120);

pub struct CompatState {
    pub core: Arc<Core>,
    pub settings: Arc<Settings>,
    pub accounts: Data<AccountService>,
    pub jobs: Data<JobService>,
    pub generations: Data<GenerationService>,
    /// Bounded by the number of connections.
    pub disconnects: UnboundedSender<Disconnect>,
    /// SDKs retry: one after a lost connection, others after a 504 if configured.
    pub recent_calls: Arc<RecentCalls<JobId>>,
    pub recent_uploads: RecentCalls<FileId>,
    pub refused_batches: RefusedCalls<(KeyId, FileBatchTerms)>,
    /// One upload of the same content at a time.
    pub uploads: FairSemaphore<RequestIdentity>,
    /// One submission at a time per account and idempotency key.
    pub submissions: FairSemaphore<(AccountId, String)>,
}

impl CompatState {
    /// Also starts to cancel the jobs of callers that disconnect.
    pub fn start(
        accounts: &Data<AccountService>,
        jobs: &Data<JobService>,
        generations: &Data<GenerationService>,
    ) -> Self {
        let recent_calls = Arc::new(RecentCalls::new(IMAGE_RETENTION));
        let (disconnects, disconnected) = unbounded_channel();
        let cancel = disconnect::run(jobs.clone(), Arc::clone(&recent_calls), disconnected);
        spawn(cancel);
        Self {
            core: Arc::clone(&jobs.core),
            settings: Arc::clone(&jobs.settings),
            accounts: accounts.clone(),
            jobs: jobs.clone(),
            generations: generations.clone(),
            disconnects,
            recent_calls,
            recent_uploads: RecentCalls::new(RETRY_WINDOW),
            refused_batches: RefusedCalls::new(RETRY_WINDOW),
            uploads: FairSemaphore::per_key(1),
            submissions: FairSemaphore::per_key(1),
        }
    }
}
