//! State of the synchronous APIs, shared by all workers.

use super::answered_calls::AnsweredCalls;
use super::refused_calls::RefusedCalls;
use super::{DetachedJobs, DisconnectSender};
use crate::application::core::Core;
use crate::application::services::{AccountService, GenerationService, JobService};
use crate::application::settings::Settings;
use actix_web::web::Data;
use std::sync::Arc;
use tintype_fair_semaphore::FairSemaphore;
use tintype_storage::domain::ids::AccountId;
use tokio::sync::Semaphore;

pub struct CompatState {
    pub core: Arc<Core>,
    pub settings: Arc<Settings>,
    pub accounts: Data<AccountService>,
    pub jobs: Data<JobService>,
    pub generations: Data<GenerationService>,
    pub disconnects: DisconnectSender,
    pub detached_jobs: DetachedJobs,
    pub answered_calls: AnsweredCalls,
    pub refused_batches: RefusedCalls,
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
            detached_jobs: DetachedJobs::default(),
            answered_calls: AnsweredCalls::default(),
            refused_batches: RefusedCalls::default(),
            submissions: FairSemaphore::new(Semaphore::MAX_PERMITS as u64, 1),
        }
    }
}
