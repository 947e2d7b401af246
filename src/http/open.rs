//! Whether new jobs are taken at all.

use super::problem::{Code, Problem};
use super::state::AppState;
use tintype_storage::domain::tier::Tier;

/// Refuses while the service or the model is paused, and while the queue is full.
pub fn check(state: &AppState, tier: Tier) -> Result<(), Problem> {
    let again = "try again later with the same Idempotency-Key";
    let paused = |what: &str, reason: &Option<String>| {
        let because = reason
            .as_ref()
            .map_or_else(String::new, |it| format!(" ({it})"));
        Problem::new(Code::Paused, format!("{what} is paused{because}; {again}"))
    };
    let pause = state.pause.read();
    if pause.project {
        return Err(paused("the service", &pause.reasons.project));
    }
    if pause.covers(tier) {
        let reason = &pause.reasons.tiers[tier.index()];
        return Err(paused(&format!("the {tier} model"), reason));
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
