//! The deadline of a request.

use crate::application::settings::Settings;
use actix_web::HttpRequest;
use std::time::Duration;
use tokio::time::Instant;

/// Timeout of the caller in seconds, sent by the SDKs.
const HEADER: &str = "x-server-timeout";

/// The deadline of a request that starts now: the configured timeout, or the caller's if that is shorter.
pub fn of_request(request: &HttpRequest, settings: &Settings) -> Instant {
    let requested = request
        .headers()
        .get(HEADER)
        .and_then(|value| value.to_str().ok()?.trim().parse::<f64>().ok())
        .filter(|seconds| *seconds > 0.0)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let limit = settings.config.compat.timeout();
    Instant::now() + requested.map_or(limit, |it| it.min(limit))
}
