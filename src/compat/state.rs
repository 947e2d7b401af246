//! What the synchronous interfaces keep in memory.

use super::{DetachedJobs, DisconnectSender};
use crate::application::state::AppState;
use actix_web::web::Data;
use std::ops::Deref;

/// Shared by all workers.
pub struct CompatState {
    /// What all interfaces share.
    pub app: Data<AppState>,
    /// Takes reports of callers who disconnect.
    pub disconnects: DisconnectSender,
    /// Jobs that go on without their callers.
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
