//! Whether new jobs are taken at all.

use super::problem::{Code, Problem};
use super::state::AppState;
use tintype_storage::domain::tier::Tier;

/// Refuses while the service or the model is paused, and while the queue is full.
pub fn check(state: &AppState, tier: Tier) -> Result<(), Problem> {
    let pause = *state.pause.read();
    let again = "try again later with the same Idempotency-Key";
    if pause.project {
        return Err(Problem::new(
            Code::Paused,
            format!("the service is paused; {again}"),
        ));
    }
    if pause.covers(tier) {
        return Err(Problem::new(
            Code::Paused,
            format!("the {tier} model is paused; {again}"),
        ));
    }
    if state.system.live_jobs() as u64 >= state.config.jobs.max_live {
        return Err(Problem::new(
            Code::Overloaded,
            format!("the queue of the service is full; {again}"),
        )
        .retry_after(5));
    }
    Ok(())
}
