//! Statistics of the whole service, cached for all open pages.

use super::Panel;
use crate::api::stats::stats;
use crate::application::commit::detached;
use crate::application::core::Core;
use crate::application::service_stats;
use crate::web::access::OperatorCall;
use crate::web::problem::{HttpResult, Problem};
use actix_web::HttpResponse;
use actix_web::web::Data;
use serde_json::Value;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

const MIN_AGE: Duration = Duration::from_millis(500);
/// A value is cached for this many times the time it took to compute: whatever the length of the history, computing takes at most
/// a twentieth of one core.
const AGE_PER_COST: u32 = 20;

#[derive(Default)]
pub struct StatsCache(Mutex<Option<CachedStats>>);

struct CachedStats {
    value: Value,
    valid_until: Instant,
}

impl StatsCache {
    /// Returns the cached value, or computes it once for all concurrent callers. Each open page calls this on every change event.
    pub async fn get(
        &self,
        compute: impl AsyncFnOnce() -> Result<Value, Problem>,
    ) -> Result<Value, Problem> {
        let mut cached = self.0.lock().await;
        let began = Instant::now();
        if let Some(it) = &*cached
            && began < it.valid_until
        {
            return Ok(it.value.clone());
        }
        let value = compute().await?;
        let age = (began.elapsed() * AGE_PER_COST).max(MIN_AGE);
        *cached = Some(CachedStats {
            value: value.clone(),
            valid_until: Instant::now() + age,
        });
        Ok(value)
    }
}

/// The statistics of the whole service. The computation finishes even if the caller disconnects: the next caller finds its result and
/// starts no second one.
pub async fn figures(core: Data<Core>, panel: Data<Panel>) -> Result<Value, Problem> {
    detached(async move {
        let compute = async || {
            let figures = stats(&service_stats::gather(&core).await?);
            // A map with string keys always encodes.
            Ok(serde_json::to_value(figures).unwrap_or_default())
        };
        panel.stats.get(compute).await
    })
    .await
}

/// `GET /stats`.
pub async fn show(_: OperatorCall, core: Data<Core>, panel: Data<Panel>) -> HttpResult {
    Ok(HttpResponse::Ok().json(figures(core, panel).await?))
}
