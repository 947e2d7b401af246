//! State of the synchronous APIs, shared by all workers.

use super::DisconnectSender;
use super::answered_calls::AnsweredCalls;
use super::disconnect::DetachedJobs;
use super::expiring_queue::ExpiringQueue;
use super::refused_calls::RefusedCalls;
use super::request_identity::RequestIdentity;
use super::waiting_calls::WaitingCalls;
use crate::application::core::Core;
use crate::application::file_batches::RETRY_WINDOW;
use crate::application::services::{AccountService, GenerationService, JobService};
use crate::application::settings::Settings;
use actix_web::web::Data;
use std::sync::Arc;
use std::time::Duration;
use tintype_fair_semaphore::FairSemaphore;
use tintype_storage::domain::file_batch::FileBatchTerms;
use tintype_storage::domain::ids::{AccountId, FileId, JobId, KeyId};
use tintype_storage::domain::time::Timestamp;
use tokio::sync::Semaphore;

/// How long a repeated request gets the image of an earlier one.
const IMAGE_RETENTION: Duration = Duration::from_secs(120);
/// Beyond this number old detached jobs are dropped.
const MAX_DETACHED_JOBS: usize = 10_000;

pub struct CompatState {
    pub core: Arc<Core>,
    pub settings: Arc<Settings>,
    pub accounts: Data<AccountService>,
    pub jobs: Data<JobService>,
    pub generations: Data<GenerationService>,
    pub disconnects: DisconnectSender,
    /// Jobs that continue after their callers have disconnected. An identical request gets the image of the job instead of paying for a
    /// second one. SDKs retry: one after a lost connection, others after a 504 if configured.
    pub detached_jobs: Arc<DetachedJobs>,
    pub waiting_calls: WaitingCalls,
    pub answered_calls: AnsweredCalls<JobId>,
    pub answered_uploads: AnsweredCalls<FileId>,
    pub refused_batches: RefusedCalls<(KeyId, FileBatchTerms)>,
    /// One upload of the same content at a time.
    pub uploads: FairSemaphore<RequestIdentity>,
    /// One submission at a time per account and idempotency key.
    pub submissions: FairSemaphore<(AccountId, String)>,
}

impl CompatState {
    pub fn new(
        accounts: &Data<AccountService>,
        jobs: &Data<JobService>,
        generations: &Data<GenerationService>,
        disconnects: DisconnectSender,
    ) -> Self {
        Self {
            core: Arc::clone(&jobs.core),
            settings: Arc::clone(&jobs.settings),
            accounts: accounts.clone(),
            jobs: jobs.clone(),
            generations: generations.clone(),
            disconnects,
            detached_jobs: Arc::new(ExpiringQueue::new(IMAGE_RETENTION, MAX_DETACHED_JOBS)),
            waiting_calls: WaitingCalls::default(),
            answered_calls: AnsweredCalls::new(IMAGE_RETENTION),
            answered_uploads: AnsweredCalls::new(RETRY_WINDOW),
            refused_batches: RefusedCalls::new(RETRY_WINDOW),
            uploads: FairSemaphore::new(Semaphore::MAX_PERMITS as u64, 1),
            submissions: FairSemaphore::new(Semaphore::MAX_PERMITS as u64, 1),
        }
    }

    /// Whether the key has a detached job, so that a request may be a repeat.
    pub fn has_detached_job(&self, key: KeyId, now: Timestamp) -> bool {
        let newest = self.detached_jobs.newest(now, |job| job.key.key == key);
        newest.is_some()
    }

    /// Whether this attempt with the key may repeat a call that waits or was answered.
    pub fn has_earlier_attempt(&self, key: KeyId, attempt: u32, now: Timestamp) -> bool {
        self.waiting_calls.has_earlier(key, attempt)
            || self.answered_calls.has_earlier(key, attempt, now)
    }
}
