//! State of the synchronous APIs, shared by all workers.

use super::{DetachedJobs, DisconnectSender};
use crate::application::core::Core;
use crate::application::services::{AccountService, GenerationService, JobService};
use crate::application::settings::Settings;
use actix_web::web::Data;
use std::sync::Arc;

pub struct CompatState {
    pub core: Arc<Core>,
    pub settings: Arc<Settings>,
    pub accounts: Data<AccountService>,
    pub jobs: Data<JobService>,
    pub generations: Data<GenerationService>,
    pub disconnects: DisconnectSender,
    pub detached_jobs: DetachedJobs,
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
        }
    }
}
