//! Calls while the database is away: they are answered with 503, and not kept waiting until it is back.

use crate::application::state::AppState;
use crate::compat;
use actix_web::web::Data;
use std::time::Duration;
use tokio::time::sleep;

/// A restart of the database that takes no longer is only a delay.
const PATIENCE_BEFORE: Duration = Duration::from_secs(1);
/// The same for a call that was under way when the outage began.
const PATIENCE_WITHIN: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(250);
/// What needs the database, beside the synchronous interfaces.
const NEEDS_DATABASE: [&str; 3] = ["/api/", "/admin/", "/panel/api/"];

/// Would a call to this path wait for a database that is away?
pub fn is_in_vain(state: &AppState, path: &str) -> bool {
    let outage = state.store.engine().outage();
    outage.is_some_and(|it| it > PATIENCE_BEFORE) && needs_database(path)
}

/// Returns once a call that is under way has waited for the database for too long.
pub async fn lasts_too_long(state: Option<Data<AppState>>) {
    // A process that has its store for itself has no database that could be away.
    let state = state.filter(|it| it.system.node().is_some());
    let Some(state) = state else {
        return std::future::pending().await;
    };
    while state
        .store
        .engine()
        .outage()
        .is_none_or(|it| it <= PATIENCE_WITHIN)
    {
        sleep(LOOK).await;
    }
}

fn needs_database(path: &str) -> bool {
    NEEDS_DATABASE.iter().any(|it| path.starts_with(it)) || compat::dialect_of(path).is_some()
}
