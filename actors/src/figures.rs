//! What the actors have done since the start, in plain counts. Nothing is decided by them, and what reads them is not known here.
//!
//! Counted is what is on the disk: a job is accepted or ended here once its commit is. What one commit has decided is gathered
//! first and added at once, so that accepting a job costs less than one addition.

use crate::generator::GenerateError;
use crate::lately::Lately;
use crate::transport::AttemptOutcome;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tintype_storage::domain::delivery::{Delivery, DeliveryState};
use tintype_storage::domain::job::{FailureKind, Job, JobState};
use tintype_storage::domain::tier::{Mode, Tier};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::tally::{CROWDS, LONG_SPANS, SHORT_SPANS, Tally};

/// All of them.
pub struct Figures {
    /// Jobs and the decisions about them.
    pub jobs: JobFigures,
    /// Each back end, in the order of the configuration.
    pub backends: Vec<BackendFigures>,
    /// Deliveries and their attempts.
    pub deliveries: DeliveryFigures,
}

impl Figures {
    /// Nothing has happened yet at this moment.
    pub fn new(backends: usize, now: Timestamp) -> Self {
        Self {
            jobs: JobFigures::since(now),
            backends: (0..backends).map(|_| BackendFigures::default()).collect(),
            deliveries: DeliveryFigures::default(),
        }
    }
}

/// Jobs and the decisions about them.
pub struct JobFigures {
    /// By tier and mode, as these number themselves.
    pub accepted: [[AtomicU64; 2]; 3],
    /// Calls that an idempotency key answered with an earlier job.
    pub replayed: AtomicU64,
    /// Runs that began anew after an earlier one had been cut off, by tier.
    pub begun_again: [AtomicU64; 3],
    /// By tier, in the order of [`Ending::ALL`].
    pub ended: [[AtomicU64; Ending::ALL.len()]; 3],
    /// From acceptance to the first run, by tier, in microseconds.
    pub waits: [Tally; 3],
    /// From acceptance to the end, by tier, in microseconds.
    pub lives: [Tally; 3],
    /// Jobs that one commit of an account has accepted, of those that have accepted any.
    pub per_commit: Tally,
    /// What has ended in the last hour.
    pub lately: Lately,
}

impl JobFigures {
    /// Nothing has happened yet at this moment.
    pub fn since(now: Timestamp) -> Self {
        let spans = || std::array::from_fn(|_| Tally::new(LONG_SPANS));
        Self {
            accepted: Default::default(),
            replayed: AtomicU64::new(0),
            begun_again: Default::default(),
            ended: Default::default(),
            waits: spans(),
            lives: spans(),
            per_commit: Tally::new(CROWDS),
            lately: Lately::since(now),
        }
    }

    /// A call was answered with an earlier job before the account's actor was asked, which counts what it notices itself.
    pub fn replayed(&self) {
        self.replayed.fetch_add(1, Ordering::Relaxed);
    }

    /// Adds what a commit has made true.
    pub(crate) fn add(&self, decided: &Decided) {
        let mut together = 0;
        for (tier, modes) in decided.accepted.iter().enumerate() {
            for (mode, jobs) in modes.iter().enumerate().filter(|(_, jobs)| **jobs > 0) {
                self.accepted[tier][mode].fetch_add(*jobs, Ordering::Relaxed);
                together += jobs;
            }
        }
        if together > 0 {
            self.per_commit.add(together);
        }
        if decided.replayed > 0 {
            self.replayed.fetch_add(decided.replayed, Ordering::Relaxed);
        }
        for (tier, wait) in &decided.begun {
            match wait {
                Some(wait) => self.waits[tier.index()].add_span(*wait),
                None => drop(self.begun_again[tier.index()].fetch_add(1, Ordering::Relaxed)),
            }
        }
        for (tier, ending, life, at) in &decided.ended {
            self.lately.note(*at, *ending == Ending::Done);
            self.ended[tier.index()][ending.index()].fetch_add(1, Ordering::Relaxed);
            self.lives[tier.index()].add_span(*life);
        }
    }
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With a picture.
    Done,
    /// Without one.
    Failed(FailureKind),
}

impl Ending {
    /// Every one that a job can come to.
    pub const ALL: [Self; 8] = [
        Self::Done,
        Self::Failed(FailureKind::Refused),
        Self::Failed(FailureKind::Blocked),
        Self::Failed(FailureKind::Unavailable),
        Self::Failed(FailureKind::TimedOut),
        Self::Failed(FailureKind::Broken),
        Self::Failed(FailureKind::Canceled),
        Self::Failed(FailureKind::Interrupted),
    ];

    /// What a job has come to; `None` while it is live.
    pub fn of(job: &Job) -> Option<Self> {
        match &job.state {
            JobState::Queued | JobState::Processing { .. } => None,
            JobState::Done { .. } => Some(Self::Done),
            JobState::Failed { kind, .. } => Some(Self::Failed(*kind)),
        }
    }

    /// Its place in [`Ending::ALL`].
    pub fn index(self) -> usize {
        match self {
            Self::Done => 0,
            Self::Failed(FailureKind::Refused) => 1,
            Self::Failed(FailureKind::Blocked) => 2,
            Self::Failed(FailureKind::Unavailable) => 3,
            Self::Failed(FailureKind::TimedOut) => 4,
            Self::Failed(FailureKind::Broken) => 5,
            Self::Failed(FailureKind::Canceled) => 6,
            Self::Failed(FailureKind::Interrupted) => 7,
        }
    }

    /// One word for it.
    pub fn word(self) -> &'static str {
        [
            "done",
            "refused",
            "blocked",
            "unavailable",
            "timed_out",
            "broken",
            "canceled",
            "interrupted",
        ][self.index()]
    }
}

/// What one commit decides, before it is known whether it holds.
#[derive(Default)]
pub(crate) struct Decided {
    accepted: [[u64; 2]; 3],
    replayed: u64,
    /// With the wait for the first run, and with none for a later one.
    begun: Vec<(Tier, Option<Duration>)>,
    ended: Vec<(Tier, Ending, Duration, Timestamp)>,
}

impl Decided {
    pub(crate) fn accepted(&mut self, tier: Tier, mode: Mode) {
        self.accepted[tier.index()][mode as usize] += 1;
    }

    pub(crate) fn replayed(&mut self) {
        self.replayed += 1;
    }

    /// A job has taken an event at `now`, and is this since.
    pub(crate) fn changed(&mut self, job: &Job, has_begun: bool, now: Timestamp) {
        let age = between(job.created_at, now);
        if let Some(ending) = Ending::of(job) {
            self.ended.push((job.tier, ending, age, now));
        } else if has_begun && let JobState::Processing { started_at, .. } = job.state {
            self.begun
                .push((job.tier, (started_at == now).then_some(age)));
        }
    }
}

/// One back end.
pub struct BackendFigures {
    /// Tries by [`TryOutcome::ALL`], with the time that each took in microseconds.
    pub tries: [Tally; TryOutcome::ALL.len()],
    /// Tries that repeated one that had failed.
    pub retries: AtomicU64,
    /// Pictures that it gave and that could not be kept.
    pub unusable: AtomicU64,
    /// Runs that gave up on it and went on to another back end, if there was one.
    pub given_up: AtomicU64,
}

impl Default for BackendFigures {
    fn default() -> Self {
        Self {
            tries: std::array::from_fn(|_| Tally::new(LONG_SPANS)),
            retries: AtomicU64::new(0),
            unusable: AtomicU64::new(0),
            given_up: AtomicU64::new(0),
        }
    }
}

/// What a try on a back end came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryOutcome {
    /// It gave something as a picture.
    Picture,
    /// It refused the request.
    Refused,
    /// It blocked the request, or the picture.
    Blocked,
    /// It is well, and made nothing of the request.
    NoPicture,
    /// It could not at the moment.
    Transient,
    /// It gave no answer in time.
    TimedOut,
    /// It is of no use for this.
    Broken,
    /// It was not asked: something of the request, or of our own stores, was in the way.
    NotAsked,
}

impl TryOutcome {
    /// Every one.
    pub const ALL: [Self; 8] = [
        Self::Picture,
        Self::Refused,
        Self::Blocked,
        Self::NoPicture,
        Self::Transient,
        Self::TimedOut,
        Self::Broken,
        Self::NotAsked,
    ];

    pub(crate) fn of(error: &GenerateError) -> Self {
        match error {
            GenerateError::Refused(_) => Self::Refused,
            GenerateError::Blocked(_) => Self::Blocked,
            GenerateError::NoPicture(_) => Self::NoPicture,
            GenerateError::Transient { .. } => Self::Transient,
            GenerateError::TimedOut(_) => Self::TimedOut,
            GenerateError::Broken(_) => Self::Broken,
            GenerateError::Unsound(_) | GenerateError::NotAsked(_) | GenerateError::Storage(_) => {
                Self::NotAsked
            }
        }
    }

    /// One word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Picture => "picture",
            Self::Refused => "refused",
            Self::Blocked => "blocked",
            Self::NoPicture => "no_picture",
            Self::Transient => "transient",
            Self::TimedOut => "timed_out",
            Self::Broken => "broken",
            Self::NotAsked => "not_asked",
        }
    }
}

/// Deliveries and their attempts.
pub struct DeliveryFigures {
    /// Attempts by what was answered, in the order of [`ANSWERS`].
    pub attempts: [AtomicU64; ANSWERS.len()],
    /// Attempts that could not be made for a fault of our own, and are made later.
    pub not_sent: AtomicU64,
    /// How long an attempt took, in microseconds.
    pub attempt_times: Tally,
    /// How late an attempt began after it was due, in microseconds.
    pub delays: Tally,
    /// From the event to the first success, where no one sent it again by hand, in microseconds.
    pub travels: Tally,
    /// Deliveries that ended well.
    pub delivered: AtomicU64,
    /// Deliveries that were given up.
    pub failed: AtomicU64,
}

/// What a receiver can answer; `none` is no answer at all.
pub const ANSWERS: [&str; 6] = ["2xx", "3xx", "4xx", "5xx", "other", "none"];

impl Default for DeliveryFigures {
    fn default() -> Self {
        Self {
            attempts: Default::default(),
            not_sent: AtomicU64::new(0),
            attempt_times: Tally::new(LONG_SPANS),
            delays: Tally::new(SHORT_SPANS),
            travels: Tally::new(LONG_SPANS),
            delivered: AtomicU64::new(0),
            failed: AtomicU64::new(0),
        }
    }
}

impl DeliveryFigures {
    pub(crate) fn began(&self, delivery: &Delivery, at: Timestamp) {
        if let Some(due) = delivery.state.due() {
            self.delays.add_span(between(due, at));
        }
    }

    pub(crate) fn attempted(&self, outcome: &AttemptOutcome) {
        let attempt = match outcome {
            AttemptOutcome::Made(attempt) => attempt,
            AttemptOutcome::NotSent(_) => {
                self.not_sent.fetch_add(1, Ordering::Relaxed);
                return;
            }
        };
        let at = match attempt.status_code {
            Some(200..300) => 0,
            Some(300..400) => 1,
            Some(400..500) => 2,
            Some(500..600) => 3,
            Some(_) => 4,
            None => 5,
        };
        self.attempts[at].fetch_add(1, Ordering::Relaxed);
        self.attempt_times
            .add_span(Duration::from_millis(attempt.duration_ms));
    }

    /// Counts a delivery that is on the disk as this, if it has ended.
    pub(crate) fn recorded(&self, delivery: &Delivery) {
        match delivery.state {
            DeliveryState::Pending { .. } => {}
            DeliveryState::Delivered { at } => {
                self.delivered.fetch_add(1, Ordering::Relaxed);
                if delivery.round == 0 {
                    self.travels.add_span(between(delivery.created_at, at));
                }
            }
            DeliveryState::Failed { .. } => {
                self.failed.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// The span between two moments; none where the clock was set back.
fn between(from: Timestamp, to: Timestamp) -> Duration {
    Duration::from_millis(u64::try_from(to.millis() - from.millis()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tintype_storage::domain::delivery::Attempt;

    #[test]
    fn every_ending_has_its_own_place_and_word() {
        for (at, ending) in Ending::ALL.into_iter().enumerate() {
            assert_eq!(ending.index(), at);
        }
        let mut words: Vec<_> = Ending::ALL.map(Ending::word).to_vec();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), Ending::ALL.len());
    }

    #[test]
    fn attempts_are_told_apart_by_what_was_answered() {
        let figures = DeliveryFigures::default();
        let at = Timestamp::from_millis(0);
        let took = Duration::from_millis(7);
        let attempted = |attempt| figures.attempted(&AttemptOutcome::Made(attempt));
        for status in [200, 204, 302, 404, 500, 503, 101] {
            attempted(Attempt::answered(0, at, took, status, b"", None));
        }
        attempted(Attempt::answered(0, at, took, 200, b"", Some("late")));
        attempted(Attempt::broken(0, at, took, "refused"));
        figures.attempted(&AttemptOutcome::NotSent("no secret".into()));
        let counted = figures
            .attempts
            .each_ref()
            .map(|it| it.load(Ordering::Relaxed));
        assert_eq!(counted, [3, 1, 1, 2, 1, 1]);
        let read = figures.attempt_times.read();
        assert_eq!((read.count(), read.sum), (9, 63_000));
        assert_eq!(figures.not_sent.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn only_commits_that_accept_jobs_count_as_such() {
        let figures = JobFigures::since(Timestamp::from_millis(0));
        figures.add(&Decided::default());
        let mut decided = Decided::default();
        (0..3).for_each(|_| decided.accepted(Tier::Pro, Mode::TextToImage));
        decided.accepted(Tier::Fast, Mode::ImageToImage);
        decided.replayed();
        figures.add(&decided);
        let read = figures.per_commit.read();
        assert_eq!((read.count(), read.sum), (1, 4));
        let of = |tier: Tier, mode: Mode| {
            figures.accepted[tier.index()][mode as usize].load(Ordering::Relaxed)
        };
        assert_eq!(of(Tier::Pro, Mode::TextToImage), 3);
        assert_eq!(of(Tier::Fast, Mode::ImageToImage), 1);
        assert_eq!(figures.replayed.load(Ordering::Relaxed), 1);
    }
}
