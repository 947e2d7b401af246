//! How long a call may take.

use crate::application::state::AppState;
use actix_web::HttpRequest;
use std::time::Duration;
use tokio::time::Instant;

/// What the SDKs send when their caller has set a time-out, in seconds.
const HEADER: &str = "x-server-timeout";

/// The moment at which a call that begins now is given up: the configured bound, or the caller's where that is shorter.
pub fn until(request: &HttpRequest, state: &AppState) -> Instant {
    let asked = request
        .headers()
        .get(HEADER)
        .and_then(|value| value.to_str().ok()?.trim().parse::<f64>().ok())
        .filter(|seconds| *seconds > 0.0)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let bound = state.config.compat.timeout();
    Instant::now() + asked.map_or(bound, |asked| asked.min(bound))
}
