//! Estimates when queued jobs will start, from the recent pace of their queue.

use crate::application::core::Core;
use std::cell::OnceCell;
use std::time::Duration;
use tintype_actors::node::NodeContext;
use tintype_actors::system::{Backlog, QueuedJob};
use tintype_api::Waiting;
use tintype_storage::domain::ids::moment_of;
use tintype_storage::domain::job::Job;
use tintype_storage::domain::tier::Tier;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::histogram::{Histogram, Reading};

/// The window of recent starts.
const WINDOW: Duration = Duration::from_secs(300);

/// Estimates for the jobs of a list at one time. Reads the pace of each model once.
pub struct QueueEstimates<'a> {
    core: &'a Core,
    now: Timestamp,
    paces: [OnceCell<Option<Pace>>; 3],
}

impl<'a> QueueEstimates<'a> {
    pub fn now(core: &'a Core) -> Self {
        Self {
            core,
            now: core.now(),
            paces: Default::default(),
        }
    }

    /// The position of a job in its queue; `None` if it is not queued.
    pub fn waiting<S>(&self, job: &Job<S>) -> Option<Waiting> {
        let queued = QueuedJob::if_queued(job)?;
        let position = self.core.system.queue().position(queued);
        Some(Waiting {
            position,
            starts_at: self.starts_at(job.tier, position),
        })
    }

    /// When the job at this position of a model's queue will start; `None` without data.
    fn starts_at(&self, tier: Tier, position: usize) -> Option<Timestamp> {
        let pace = self.paces[tier.index()].get_or_init(|| Pace::of(self.core, tier, self.now));
        let wait = pace.as_ref()?.wait(position)?;
        Some(self.now.plus(wait))
    }
}

/// How long a job submitted now would wait; `None` without data.
pub fn wait_now(core: &Core, tier: Tier) -> Option<Duration> {
    let queued = core.system.queue().queued(tier);
    let system = &core.system;
    let is_idle =
        queued == 0 && system.has_backend_in_service(tier) && system.has_idle_backend(tier);
    match is_idle && !core.pause.read().covers(tier) {
        true => Some(Duration::ZERO),
        false => Pace::of(core, tier, core.now())?.wait(queued + 1),
    }
}

/// How long it takes until `jobs` of the `live` jobs of an account or a key end; `None` without data.
pub fn until_ended(core: &Core, live: usize, jobs: usize) -> Option<Duration> {
    let stats = &core.system.stats().jobs;
    let recent = stats.recent.counts(core.now(), WINDOW);
    let lives = stats.lives.each_ref().map(Histogram::read);
    let count: u64 = lives.iter().map(Reading::count).sum();
    let micros: u64 = lives.iter().map(|it| it.sum).sum();
    let pace = Pace {
        jobs: recent.counts.iter().sum::<u64>() * nodes(core),
        span: between(recent.since, core.now()),
    };
    // In its mean life, each of the live jobs ends.
    let by_life = Pace {
        jobs: live as u64,
        span: Duration::from_micros(micros.checked_div(count)?),
    };
    // The pace of an idle service shows how few jobs there were. The mean life is long if some jobs waited behind batches.
    let waits = pace.wait(jobs).into_iter().chain(by_life.wait(jobs));
    waits.min()
}

/// The nodes that serve the same queue with the same backends.
fn nodes(core: &Core) -> u64 {
    core.system.node().map_or(1, NodeContext::count) as u64
}

/// Jobs that begin or end within a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pace {
    jobs: u64,
    span: Duration,
}

impl Pace {
    /// `None` while no job starts: the model is paused, none of its backends is in service, or the object store fails.
    fn of(core: &Core, tier: Tier, now: Timestamp) -> Option<Self> {
        let system = &core.system;
        let may_start = system.has_backend_in_service(tier) && system.can_store_images();
        if core.pause.read().covers(tier) || !may_start {
            return None;
        }
        let begun = core.system.stats().jobs.begun[tier.index()].counts(now, WINDOW);
        let [count] = begun.counts;
        let running = core.system.queue().begun(tier) as u64;
        let recent = Self {
            // If all of them may still run, they show only that the backends were idle before.
            jobs: if count * nodes(core) > running {
                count
            } else {
                0
            },
            span: between(begun.since, now),
        };
        let own = match core.system.queue().backlog(tier) {
            Some(backlog) => Self::of_backlog(&backlog, recent, now)?,
            None => recent,
        };
        Some(Self {
            jobs: own.jobs * nodes(core),
            ..own
        })
    }

    /// The pace of a queue that was empty a short while ago: the time before that shows how few jobs there were, not how fast the
    /// backends are. `None` while the backends run the first jobs, which found them idle. If ids are ahead of the clock, it is unknown
    /// when the queue was empty.
    fn of_backlog(backlog: &Backlog, recent: Self, now: Timestamp) -> Option<Self> {
        let began = moment_of(&backlog.first.0)?;
        if began > now {
            return Some(recent);
        }
        let span = between(began, now);
        match (backlog.begun, backlog.ended) {
            _ if span >= recent.span => Some(recent),
            (0, 0) => Some(recent),
            (_, 0) => None,
            // Each ended run has freed a slot. The first runs took slots that were already free.
            (_, ended) => Some(Self {
                jobs: ended as u64,
                span,
            }),
        }
    }

    fn wait(&self, position: usize) -> Option<Duration> {
        let jobs = u32::try_from(self.jobs).ok().filter(|it| *it > 0)?;
        let position = u32::try_from(position).unwrap_or(u32::MAX);
        (self.span / jobs).checked_mul(position)
    }
}

fn between(from: Timestamp, to: Timestamp) -> Duration {
    let millis = to.millis().saturating_sub(from.millis());
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tintype_storage::domain::ids::{IdSource, JobId};

    /// Milliseconds; when the backlog begins.
    const BEGAN: i64 = 1_700_000_000_000;

    /// A backlog `seconds` after it found `slots` idle slots. Each job takes `run` seconds.
    fn backlog(slots: u32, run: u32, seconds: u32) -> Backlog {
        let rounds = seconds / run;
        Backlog {
            first: JobId(IdSource::new(Timestamp::from_millis(BEGAN - 1)).next(after(0))),
            begun: (slots * (rounds + 1)) as usize,
            ended: (slots * rounds) as usize,
        }
    }

    fn after(seconds: u32) -> Timestamp {
        Timestamp::from_millis(BEGAN + i64::from(seconds) * 1_000)
    }

    #[test]
    fn a_backlog_after_idle_minutes_is_estimated_within_a_factor_of_two() {
        let cases = |(slots, run)| (0..300).map(move |seconds| (slots, run, seconds));
        let backends = [1, 2, 4, 7, 64].map(|slots| [1, 3, 10, 59].map(|run| (slots, run)));
        for (slots, run, seconds) in backends.into_iter().flatten().flat_map(cases) {
            let backlog = backlog(slots, run, seconds);
            let recent = Pace {
                jobs: backlog.begun as u64,
                span: WINDOW,
            };
            let pace = Pace::of_backlog(&backlog, recent, after(seconds));
            let case = format!("{slots} slots, {run} s each, after {seconds} s");
            if seconds < run {
                assert_eq!(pace, None, "{case}");
                continue;
            }
            let wait = pace.and_then(|it| it.wait(1_000)).expect("a pace");
            let of_exact = wait.as_secs_f64() * f64::from(slots) / f64::from(run * 1_000);
            assert!((0.99..2.01).contains(&of_exact), "{case}: {of_exact}");
        }
    }

    #[test]
    fn a_backlog_that_has_not_moved_or_is_older_than_the_window_uses_the_window() {
        let recent = Pace {
            jobs: 30,
            span: WINDOW,
        };
        let pace = |backlog, seconds| Pace::of_backlog(&backlog, recent, after(seconds));
        assert_eq!(pace(backlog(4, 10, 300), 300), Some(recent));
        let waits = Backlog {
            begun: 0,
            ended: 0,
            ..backlog(4, 10, 0)
        };
        assert_eq!(pace(waits, 5), Some(recent));
    }

    #[test]
    fn a_backlog_whose_ids_are_ahead_of_the_clock_uses_the_window() {
        let recent = Pace {
            jobs: 30,
            span: WINDOW,
        };
        let before = Timestamp::from_millis(BEGAN - 60_000);
        let pace = Pace::of_backlog(&backlog(4, 10, 20), recent, before);
        assert_eq!(pace, Some(recent));
    }

    #[test]
    fn a_job_waits_until_the_jobs_before_it_have_started() {
        let minutes = Duration::from_secs(300);
        for (position, jobs, seconds) in [
            (1, 300, Some(1)),
            (60, 30, Some(600)),
            (5, 0, None),
            (0, 7, Some(0)),
        ] {
            let span = minutes;
            let wait = Pace { jobs, span }.wait(position);
            assert_eq!(wait.map(|it| it.as_secs()), seconds, "{position}, {jobs}");
        }
    }
}
