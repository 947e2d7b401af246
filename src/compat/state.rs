//! State of the synchronous APIs, shared by all workers.

use super::{DetachedJobs, DisconnectSender};
use crate::application::state::AppState;
use actix_web::web::Data;
use std::ops::Deref;

pub struct CompatState {
    pub app: Data<AppState>,
    pub disconnects: DisconnectSender,
    pub detached_jobs: DetachedJobs,
}

impl CompatState {
    pub fn new(app: Data<AppState>, disconnects: DisconnectSender) -> Self {
        Self {
            app,
            disconnects,
            detached_jobs: DetachedJobs::default(),
        }
    }
}

impl Deref for CompatState {
    type Target = AppState;

    fn deref(&self) -> &AppState {
        &self.app
    }
}
