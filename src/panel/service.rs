//! The figures of the whole service, for all pages that show them.

use super::Panel;
use crate::api::stats::stats;
use crate::application::commit::detached;
use crate::application::service_stats;
use crate::application::state::AppState;
use crate::web::problem::Problem;
use actix_web::web::Data;
use serde_json::Value;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// Figures are not gathered anew before this has passed.
const AT_LEAST: Duration = Duration::from_millis(500);
/// Nor before this many times the time that they took: however long the history is, a twentieth of one core goes into them.
const TIMES: u32 = 20;

/// Figures that were gathered last.
#[derive(Default)]
pub struct Figures(Mutex<Option<Kept>>);

struct Kept {
    value: Value,
    good_until: Instant,
}

impl Figures {
    /// The figures, gathered once for all pages that ask at the same time. Each open page asks for them upon every hint.
    pub async fn get(
        &self,
        gather: impl AsyncFnOnce() -> Result<Value, Problem>,
    ) -> Result<Value, Problem> {
        let mut kept = self.0.lock().await;
        let began = Instant::now();
        if let Some(it) = &*kept
            && began < it.good_until
        {
            return Ok(it.value.clone());
        }
        let value = gather().await?;
        let wait = (began.elapsed() * TIMES).max(AT_LEAST);
        *kept = Some(Kept {
            value: value.clone(),
            good_until: Instant::now() + wait,
        });
        Ok(value)
    }
}

/// The figures of the whole service. They are gathered to the end also when the page that asked has left: the next one finds them, and
/// begins nothing beside them.
pub async fn figures(state: Data<AppState>, panel: Data<Panel>) -> Result<Value, Problem> {
    detached(async move {
        let gather = async || {
            let figures = stats(&service_stats::gather(&state).await?);
            // A map with string keys always encodes.
            Ok(serde_json::to_value(figures).unwrap_or_default())
        };
        panel.figures.get(gather).await
    })
    .await
}
