//! When queued jobs will begin, by how many have begun in the last minutes.

use super::state::AppState;
use std::cell::OnceCell;
use std::time::Duration;
use tintype_api::Waiting;
use tintype_storage::domain::job::Job;
use tintype_storage::domain::tier::Tier;
use tintype_storage::domain::time::Timestamp;

/// The minutes that are looked at.
const SPAN: Duration = Duration::from_secs(300);

/// The place of a job in its queue; `None` for a job that is not queued.
pub fn waiting(state: &AppState, job: &Job) -> Option<Waiting> {
    QueueEstimates::now(state).waiting(job)
}

/// The same for the jobs of a list, at one moment: the pace of a model is read once.
pub struct QueueEstimates<'a> {
    state: &'a AppState,
    now: Timestamp,
    paces: [OnceCell<Option<Pace>>; 3],
}

impl<'a> QueueEstimates<'a> {
    pub fn now(state: &'a AppState) -> Self {
        Self {
            state,
            now: state.now(),
            paces: Default::default(),
        }
    }

    /// The place of a job in its queue; `None` for a job that is not queued.
    pub fn waiting(&self, job: &Job) -> Option<Waiting> {
        let position = self.state.system.queue_position(job)?;
        Some(Waiting {
            position,
            starts_at: self.starts_at(job.tier, position),
        })
    }

    /// When the job at this position of a model's queue will begin; `None` without data.
    pub fn starts_at(&self, tier: Tier, position: usize) -> Option<Timestamp> {
        let pace = self.paces[tier.index()].get_or_init(|| Pace::of(self.state, tier, self.now));
        let wait = pace.as_ref()?.wait(position)?;
        Some(self.now.plus(wait))
    }
}

/// How long a job of a model that is submitted now would wait; `None` without data.
pub fn wait_now(state: &AppState, tier: Tier) -> Option<Duration> {
    match state.system.queue(tier).0 {
        0 if !state.pause.read().covers(tier) => Some(Duration::ZERO),
        queued => Pace::of(state, tier, state.now())?.wait(queued + 1),
    }
}

/// How many jobs of a model have begun lately.
struct Pace {
    begun: u64,
    span: Duration,
}

impl Pace {
    /// `None` while the model is paused.
    fn of(state: &AppState, tier: Tier, now: Timestamp) -> Option<Self> {
        if state.pause.read().covers(tier) {
            return None;
        }
        let begun = state.system.stats().jobs.begun[tier.index()].counts(now, SPAN);
        let [count] = begun.counts;
        let span = now.millis().saturating_sub(begun.since.millis());
        Some(Self {
            begun: count,
            span: Duration::from_millis(span.unsigned_abs()),
        })
    }

    /// How long the job at this position waits; `None` without data.
    fn wait(&self, position: usize) -> Option<Duration> {
        let jobs = u32::try_from(self.begun).ok().filter(|it| *it > 0)?;
        let position = u32::try_from(position).unwrap_or(u32::MAX);
        (self.span / jobs).checked_mul(position)
    }
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
            let span = minutes;
            let wait = Pace { begun, span }.wait(position);
            assert_eq!(wait.map(|it| it.as_secs()), seconds, "{position}, {begun}");
        }
    }
}
