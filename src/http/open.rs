//! Whether new jobs are taken at all, and whether they are taken just now.

use super::failures;
use super::problem::{Code, Problem};
use super::state::AppState;
use tintype_storage::domain::ids::AccountId;
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

/// Refuses what would only wait, because more creations are under way than can be written down in time. A hint: calls that look at
/// the same moment all pass.
///
/// Asked before a request is parsed, which is most of what a refusal costs: where the processors are the bottleneck, what
/// refused calls cost is lost to the others. So it comes before checks that are published as earlier ones.
pub fn check_crowd(state: &AppState, account: AccountId) -> Result<(), Problem> {
    let most = state.config.jobs.max_creations_under_way;
    // So that one account that floods the service leaves room to the others.
    let most_of_one = most.div_ceil(2);
    let accounts = state.system.accounts();
    let all = accounts.under_way();
    // No account has more of them than there are.
    if all < most_of_one {
        return Ok(());
    }
    if all >= most {
        return Err(failures::crowded());
    }
    if accounts.under_way_of(account) >= most_of_one {
        return Err(failures::busy());
    }
    Ok(())
}
