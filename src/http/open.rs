//! Whether new jobs are taken at all.

use super::problem::{Code, Problem};
use super::state::AppState;
use tintype_storage::domain::tier::Tier;

/// Refuses while the service or the model is paused, and while the queue is full.
pub fn check(state: &AppState, tier: Tier) -> Result<(), Problem> {
    let again = "try again later with the same Idempotency-Key";
    let pause = state.pause.read();
    if pause.covers(tier) {
        let what = if pause.project {
            "the service".to_owned()
        } else {
            format!("the {tier} model")
        };
        let because = pause.reason(tier).map(|it| format!(" ({it})"));
        let because = because.unwrap_or_default();
        let detail = format!("{what} is paused{because}; {again}");
        return Err(Problem::new(Code::Paused, detail));
    }
    drop(pause);
    if state.system.live_jobs() as u64 >= state.config.jobs.max_live {
        return Err(Problem::new(
            Code::Overloaded,
            format!("the queue of the service is full; {again}"),
        )
        .retry_after(5));
    }
    Ok(())
}
