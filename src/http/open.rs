//! Whether new jobs are taken at all.

use crate::application::state::AppState;
use crate::web::problem::{Code, Problem};
use tintype_storage::domain::tier::Tier;

/// Refuses while the service or the model is paused, and while the queue is full.
pub fn check(state: &AppState, tier: Tier) -> Result<(), Problem> {
    state.pause.read().admit(tier)?;
    if state.system.live_jobs() as u64 >= state.config.jobs.max_live {
        return Err(Problem::new(
            Code::Overloaded,
            "the queue of the service is full; try again later with the same Idempotency-Key",
        )
        .retry_after(5));
    }
    Ok(())
}
