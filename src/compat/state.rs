//! What the synchronous interfaces keep in memory beside the state that all interfaces share.

use super::{Line, Orphans};
use crate::application::state::AppState;
use actix_web::web::Data;
use std::ops::Deref;

/// Shared by all workers.
pub struct CompatState {
    /// What all interfaces share.
    pub app: Data<AppState>,
    /// Hears of jobs whose callers have gone away.
    pub abandoned: Line,
    /// Jobs that go on though their callers have gone.
    pub orphans: Orphans,
}

impl CompatState {
    pub fn new(app: Data<AppState>, abandoned: Line) -> Self {
        Self {
            app,
            abandoned,
            orphans: Orphans::default(),
        }
    }
}

impl Deref for CompatState {
    type Target = AppState;

    fn deref(&self) -> &AppState {
        &self.app
    }
}
