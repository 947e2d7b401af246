//! Answers requests with 503 while the database is unavailable, instead of letting them wait until it is back.

use crate::application::core::Core;
use crate::compat;
use actix_web::http::Method;
use actix_web::web::Data;
use std::time::Duration;
use tokio::time::sleep;

/// New requests are refused after an outage of this length. A shorter restart of the database only delays them.
const REFUSE_NEW_AFTER: Duration = Duration::from_secs(1);
/// Requests in flight are aborted after an outage of this length.
const ABORT_AFTER: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Paths that need the database, besides those of the synchronous interfaces.
const NEEDS_DATABASE: [&str; 3] = ["/api/", "/admin/", "/panel/api/"];

/// Must a new request be refused?
pub fn refuses(core: &Core, method: &Method, path: &str) -> bool {
    let engine = core.store.engine();
    let outage = match method.is_safe() {
        true => engine.outage(),
        false => engine.write_outage(),
    };
    outage.is_some_and(|it| it > REFUSE_NEW_AFTER) && needs_database(path)
}

/// Does an outage abort requests for this path? Metrics report the outage, and leave out what they would read from the database.
pub fn aborts(path: &str) -> bool {
    path != "/metrics"
}

/// Waits until an outage is long enough to abort requests in flight.
pub async fn wait_until_abort(core: Option<Data<Core>>) {
    // A process with a local store has no database that could be unavailable.
    let core = core.filter(|it| it.system.node().is_some());
    let Some(core) = core else {
        return std::future::pending().await;
    };
    while core
        .store
        .engine()
        .outage()
        .is_none_or(|it| it <= ABORT_AFTER)
    {
        sleep(POLL_INTERVAL).await;
    }
}

fn needs_database(path: &str) -> bool {
    NEEDS_DATABASE.iter().any(|it| path.starts_with(it)) || compat::dialect_of(path).is_some()
}
