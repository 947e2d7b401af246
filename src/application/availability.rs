//! Whether new jobs are accepted at all.

use super::error::{Error, ErrorKind};
use super::state::AppState;
use tintype_storage::domain::tier::Tier;

/// Refuses while the service or the model is paused, and while the queue is full.
///
/// # Errors
/// `Paused`, `Overloaded`
pub fn check(state: &AppState, tier: Tier) -> Result<(), Error> {
    state.pause.read().admit(tier)?;
    if state.system.live_jobs() as u64 >= state.config.jobs.max_live {
        let detail =
            "the queue of the service is full; try again later with the same Idempotency-Key";
        return Err(Error::new(ErrorKind::Overloaded, detail).retry_after(5));
    }
    Ok(())
}
