//! Waiting for the end of a job or a batch on a server.

use super::native_client::is_transient;
use super::output::note;
use indicatif::ProgressBar;
use std::time::{Duration, Instant};

/// Minimum time between two requests, for servers that do not support long polling.
const INTERVAL: Duration = Duration::from_secs(1);
/// A wait ends if the server does not respond for so long: enough for a server that finishes its images, stops and starts again.
const MAX_OUTAGE: Duration = Duration::from_secs(600);

/// Repeats `request` until `is_final` accepts its response. `is_final` shows the progress of each response on `progress`. Survives
/// rejections for a limit and a restart of the server.
///
/// # Errors
/// Those of `request` that another attempt would have too, or that last longer than ten minutes.
pub async fn poll<T>(
    progress: &ProgressBar,
    request: impl AsyncFn() -> anyhow::Result<T>,
    is_final: impl Fn(&T) -> bool,
) -> anyhow::Result<T> {
    let mut failing_since = None;
    loop {
        let requested_at = Instant::now();
        match request().await {
            Ok(response) if is_final(&response) => return Ok(response),
            Ok(_) => failing_since = None,
            Err(error) if is_transient(&error) => {
                let since = *failing_since.get_or_insert_with(|| {
                    progress.suspend(|| note(&format!("{error:#}; the command keeps trying")));
                    requested_at
                });
                if since.elapsed() > MAX_OUTAGE {
                    return Err(error);
                }
            }
            Err(error) => return Err(error),
        }
        tokio::time::sleep(INTERVAL.saturating_sub(requested_at.elapsed())).await;
    }
}
