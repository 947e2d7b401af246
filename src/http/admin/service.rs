//! The service as a whole: its statistics, and a point-in-time export of all records.

use crate::api::stats;
use crate::application::core::Core;
use crate::application::export;
use crate::application::services::JobService;
use crate::web::access::OperatorCall;
use crate::web::problem::HttpResult;
use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use actix_web::{HttpResponse, web};
use futures_util::stream;

/// `GET /stats`
pub async fn stats(_: OperatorCall, core: web::Data<Core>) -> HttpResult {
    Ok(HttpResponse::Ok().json(stats::stats(&core).await?))
}

/// `GET /export`
pub async fn export(OperatorCall(caller): OperatorCall, jobs: web::Data<JobService>) -> HttpResult {
    let receiver = export::start(&jobs, &caller)?;
    let blocks = stream::unfold(receiver, |mut receiver| async {
        let block = receiver.recv().await?;
        Some((Ok::<_, actix_web::Error>(block), receiver))
    });
    Ok(HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, "application/x-ndjson"))
        .insert_header((CACHE_CONTROL, "no-store"))
        .streaming(blocks))
}
