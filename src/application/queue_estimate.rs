//! When queued jobs will begin, by how many have begun in the last minutes.

use super::state::AppState;
use std::time::Duration;
use tintype_api::Waiting;
use tintype_storage::domain::job::Job;
use tintype_storage::domain::tier::Tier;

/// The minutes that are looked at.
const SPAN: Duration = Duration::from_secs(300);

/// The place of a job in its queue; `None` for a job that is not queued.
pub fn waiting(state: &AppState, job: &Job) -> Option<Waiting> {
    let position = state.system.queue_position(job)?;
    let wait = wait_of(state, job.tier, position);
    Some(Waiting {
        position,
        starts_at: wait.map(|wait| state.now().plus(wait)),
    })
}

/// How long a job of a model that is submitted now would wait; `None` without data.
pub fn wait_now(state: &AppState, tier: Tier) -> Option<Duration> {
    match state.system.queue(tier).0 {
        0 if !state.pause.read().covers(tier) => Some(Duration::ZERO),
        queued => wait_of(state, tier, queued + 1),
    }
}

/// How long the job at this position waits.
fn wait_of(state: &AppState, tier: Tier, position: usize) -> Option<Duration> {
    if state.pause.read().covers(tier) {
        return None;
    }
    let now = state.now();
    let begun = state.system.stats().jobs.begun[tier.index()].counts(now, SPAN);
    let [count] = begun.counts;
    let span = now.millis().saturating_sub(begun.since.millis());
    wait(position, count, Duration::from_millis(span.unsigned_abs()))
}

/// The time in which so many jobs begin, where `begun` have begun within a span.
fn wait(position: usize, begun: u64, span: Duration) -> Option<Duration> {
    let jobs = u32::try_from(begun).ok().filter(|it| *it > 0)?;
    let position = u32::try_from(position).unwrap_or(u32::MAX);
    (span / jobs).checked_mul(position)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_waits_as_long_as_those_before_it_take_to_begin() {
        let minutes = Duration::from_secs(300);
        for (position, begun, seconds) in [
            (1, 300, Some(1)),
            (60, 30, Some(600)),
            (5, 0, None),
            (0, 7, Some(0)),
        ] {
            let wait = wait(position, begun, minutes);
            assert_eq!(wait.map(|it| it.as_secs()), seconds, "{position}, {begun}");
        }
    }
}
