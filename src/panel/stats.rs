//! Statistics of the whole service, cached for all open pages.

use super::Panel;
use crate::api::stats::stats;
use crate::application::core::Core;
use crate::application::core::commit::detached;
use crate::application::operations::disk_space;
use crate::application::settings::Settings;
use crate::web::auth::access::OperatorCall;
use crate::web::problem::{HttpResult, Problem};
use actix_web::HttpResponse;
use actix_web::web::Data;
use serde_json::{Value, json};

/// The statistics of the whole service. The computation finishes even if the caller disconnects: the next caller finds its result and
/// starts no second one. Each open page calls this on every change event.
pub async fn figures(
    core: Data<Core>,
    settings: Data<Settings>,
    panel: Data<Panel>,
) -> Result<Value, Problem> {
    detached(async move {
        let compute = async || {
            let figures = stats(&core).await?;
            // A map with string keys always encodes.
            let mut figures = serde_json::to_value(figures).unwrap_or_default();
            figures["disk"] = disk(&settings).await?;
            Ok(figures)
        };
        panel.stats.get_or_compute((), compute).await
    })
    .await
}

/// `null` if the file system does not report its free space.
async fn disk(settings: &Settings) -> Result<Value, Problem> {
    let found = disk_space::read(settings).await?;
    Ok(found.map_or(Value::Null, |it| {
        json!({
            "data_dir": settings.config.storage.data_dir.display().to_string(),
            "free_bytes": it.free_bytes,
            "is_low": it.is_low,
        })
    }))
}

pub async fn show(
    _: OperatorCall,
    core: Data<Core>,
    settings: Data<Settings>,
    panel: Data<Panel>,
) -> HttpResult {
    Ok(HttpResponse::Ok().json(figures(core, settings, panel).await?))
}
