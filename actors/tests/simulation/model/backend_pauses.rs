//! The paused backends: the attempts and starts that a pause forbids, and how long a run may wait for its end.

use super::jobs::{BEGIN_GRACE, KnownJob};
use super::{JobStatus, Model};
use crate::life::{ROUTES, RUN_TIMEOUT};
use tintype_storage::domain::backend_pauses::BackendPauses;
use tintype_storage::domain::ids::JobId;

/// The time that a run may take beyond its deadline, in milliseconds: backends are asked for earlier work without a deadline, and the end
/// of the run must be recorded.
const END_GRACE: i64 = 60_000;

/// By the number of the backend, or of the tier.
#[derive(Default)]
pub struct PausedBackends {
    durable: [bool; 3],
    /// The operator got the answer, and has not asked for another change since.
    in_force: [bool; 3],
    /// The uptime since which all backends of the tier are paused.
    all_since: [Option<i64>; 3],
    /// Could all backends of the tier have been paused at the same time in this life?
    were_all: [bool; 3],
    /// The uptime at which this life began.
    life_began: i64,
}

pub fn backend_name(number: usize) -> String {
    format!("backend-{number}")
}

fn covers(paused: &[bool; 3], tier: usize) -> bool {
    ROUTES[tier].iter().all(|backend| paused[*backend])
}

impl PausedBackends {
    fn come_into_force(&mut self, paused: [bool; 3], uptime: i64) {
        self.in_force = paused;
        for (tier, since) in self.all_since.iter_mut().enumerate() {
            *since = covers(&paused, tier).then(|| since.unwrap_or(uptime));
            self.were_all[tier] |= since.is_some();
        }
    }
}

impl Model {
    pub(super) fn backend_pauses_recorded(&mut self, pauses: Option<BackendPauses>) {
        let pauses = pauses.unwrap_or_default();
        self.paused_backends.durable = [0, 1, 2].map(|it| pauses.of(&backend_name(it)).is_some());
    }

    /// The operator asks for these pauses. Until the answer, only the pauses that stay are certain.
    pub fn backends_pause_asked(&mut self, asked: [bool; 3], uptime: i64) {
        self.check_waits(uptime);
        let known = &mut self.paused_backends;
        let both = [0, 1, 2].map(|it| known.in_force[it] && asked[it]);
        known.come_into_force(both, uptime);
        for tier in 0..3 {
            known.were_all[tier] |= covers(&asked, tier);
        }
    }

    pub fn backends_pause_answered(&mut self, asked: [bool; 3], uptime: i64) {
        if asked.contains(&true) {
            self.count("backends paused");
        }
        if self.paused_backends.durable != asked {
            self.fault(format!(
                "the pauses {asked:?} were answered before they were durable"
            ));
        }
        self.paused_backends.come_into_force(asked, uptime);
    }

    /// The pauses that are durable hold from the start of the next life on.
    pub(super) fn backend_pauses_of_next_life(&mut self, uptime: i64) {
        self.check_waits(uptime);
        self.paused_backends = PausedBackends {
            durable: self.paused_backends.durable,
            life_began: uptime,
            ..PausedBackends::default()
        };
        let durable = self.paused_backends.durable;
        self.paused_backends.come_into_force(durable, uptime);
    }

    /// A backend receives an attempt.
    pub fn attempted(&mut self, backend: usize) {
        if self.paused_backends.in_force[backend] {
            self.fault(format!("the paused backend {backend} got an attempt"));
        }
    }

    /// Checks a job that begins a run now.
    pub(super) fn check_backends_of_start(&mut self, known: &KnownJob) {
        let since = self.paused_backends.all_since[known.tier.index()];
        if since.is_some_and(|since| self.uptime > since + BEGIN_GRACE) {
            let text = format!(
                "job {} began while all its backends were paused",
                known.number
            );
            self.fault(text);
        }
    }

    /// The uptime since which this life may work on a job.
    fn worked_on_since(&self, job: JobId) -> i64 {
        let begun_at = self.life_events.get(&job).and_then(|it| it.begun_at);
        begun_at.unwrap_or(self.paused_backends.life_began)
    }

    /// May a job have failed because it has waited for the end of a pause until its deadline?
    pub(super) fn may_time_out(&self, job: JobId, known: &KnownJob) -> bool {
        let age = self.uptime - self.worked_on_since(job);
        self.paused_backends.were_all[known.tier.index()] && age >= RUN_TIMEOUT.as_millis() as i64
    }

    /// Checks that no run waits longer for the end of a pause than its deadline allows.
    fn check_waits(&mut self, uptime: i64) {
        let most = RUN_TIMEOUT.as_millis() as i64 + END_GRACE;
        let late = self.jobs.iter().filter_map(|(id, job)| {
            let since = self.paused_backends.all_since[job.tier.index()]?;
            let waited = uptime - since.max(self.worked_on_since(*id));
            let is_running = matches!(job.status, JobStatus::Processing { .. });
            (is_running && waited > most).then(|| {
                format!(
                    "job {} has waited {waited} ms for the end of a pause",
                    job.number
                )
            })
        });
        let late: Vec<String> = late.collect();
        self.faults.extend(late);
    }
}
