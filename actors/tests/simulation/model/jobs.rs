//! The states of jobs.

use super::batches::JoinedJob;
use super::records::{KeyUse, millionths};
use super::{ChangedRecords, Model, MovedMoney};
use std::collections::BTreeMap;
use tintype_storage::domain::audit_log::Action;
use tintype_storage::domain::ids::{AccountId, BatchId, JobId, KeyId};
use tintype_storage::domain::job::{EXPIRED, FailureKind, Job, JobState, Origin, PromptRef};
use tintype_storage::domain::tier::Tier;
use tintype_storage::store::Made;

/// The time after a pause in which a run may still begin, because its commit was in flight.
pub const BEGIN_GRACE: i64 = 10_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobStatus {
    Queued,
    Processing { started_at: i64, runs: u32 },
    Done,
    Failed,
}

impl JobStatus {
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Done | Self::Failed)
    }
}

/// A job that was accepted.
#[derive(Clone, Debug)]
pub struct KnownJob {
    /// In the order of acceptance over the whole scenario.
    pub number: usize,
    pub request: usize,
    pub account: AccountId,
    pub key: KeyId,
    pub tier: Tier,
    pub price: i64,
    pub synchronous: bool,
    pub charges: u32,
    pub(super) created_at: i64,
    /// The recorded deadline for its start.
    pub(super) expiry: Option<i64>,
    pub status: JobStatus,
    pub(super) ended_at: Option<i64>,
    pub batch: Option<BatchId>,
    /// Are its input images recorded?
    fetched: bool,
}

impl KnownJob {
    pub fn is_done(&self) -> bool {
        self.status == JobStatus::Done
    }
}

/// The events of a job in this life of the process.
#[derive(Default)]
pub struct LifeEvents {
    pub(super) begun: bool,
    /// The uptime at which its run began.
    pub(super) begun_at: Option<i64>,
    pub cancel_asked: bool,
    /// The stored images, identified by their unique sizes.
    pub(super) kept: Vec<u64>,
    /// The fetched input images, identified by their unique sizes.
    pub(super) fetched: Vec<u64>,
    /// The failures that a backend, the image store or a timeout has caused.
    pub(super) allowed_failures: Vec<FailureKind>,
}

/// A job that has ended in a commit.
pub struct JobEnd {
    pub job: JobId,
    pub account: AccountId,
    pub key: KeyId,
    pub price: i64,
    pub done: bool,
    pub at: i64,
    pub synchronous: bool,
    pub in_batch: bool,
    pub callback: Option<(tintype_storage::domain::webhook::WebhookId, String)>,
}

impl Model {
    /// Applies the job changes of a commit, and reports those that no request explains.
    pub(super) fn jobs_step(
        &mut self,
        changed: &mut ChangedRecords,
        trace: &mut Vec<String>,
    ) -> (BTreeMap<AccountId, MovedMoney>, Vec<JobEnd>) {
        let (live, ended) = (
            std::mem::take(&mut changed.live),
            std::mem::take(&mut changed.ended),
        );
        let (mut moved, mut over): (BTreeMap<AccountId, MovedMoney>, _) =
            (BTreeMap::new(), Vec::new());
        let begun = self.begun(&live);
        for job in ended.values().flatten() {
            let no_answer = matches!(
                &job.state,
                JobState::Failed {
                    kind: FailureKind::Unavailable
                        | FailureKind::TimedOut
                        | FailureKind::Canceled
                        | FailureKind::Interrupted,
                    ..
                }
            );
            if no_answer && job.origin == Origin::Synchronous {
                self.names.release(job.id.0);
            }
        }
        for (id, job) in &live {
            match job {
                Some(job) if self.jobs.contains_key(id) => self.job_progressed(job, &begun, trace),
                Some(job) => {
                    moved.entry(job.account).or_default();
                    self.job_accepted(job, changed, trace);
                }
                None if ended.contains_key(id) => {}
                None => self.fault(format!("job {id} has vanished")),
            }
        }
        for (id, job) in ended {
            match job {
                None if !live.contains_key(&id) => self.job_forgotten(id),
                Some(job) if matches!(live.get(&id), Some(None)) => {
                    if let Some(it) = self.job_ended(&job, trace) {
                        self.settle(&it, moved.entry(it.account).or_default());
                        over.push(it);
                    }
                }
                _ => self.fault(format!("the record of the ended job {id} was changed")),
            }
        }
        (moved, over)
    }

    /// Queued jobs that begin in this commit.
    fn begun(&self, live: &BTreeMap<JobId, Option<Box<Job>>>) -> Vec<JobId> {
        let begins = |id: &JobId| {
            self.jobs
                .get(id)
                .is_some_and(|it| it.status == JobStatus::Queued)
        };
        live.keys().filter(|id| begins(id)).copied().collect()
    }

    fn job_accepted(&mut self, job: &Job, changed: &mut ChangedRecords, trace: &mut Vec<String>) {
        let number = match &job.prompt {
            PromptRef::Inline(words) => words.prompt.strip_prefix("request "),
            PromptRef::Stored(key) => key.strip_prefix("words/"),
        };
        let request = number.and_then(|it| it.parse::<usize>().ok());
        let Some((request, asked)) =
            request.and_then(|it| Some((it, self.requests.get(it)?.clone())))
        else {
            self.fault(format!("no request explains job {}", job.id));
            return;
        };
        let (price, at) = (millionths(job.price), job.created_at.millis());
        let callback = job.callback.as_ref().map(|it| (it.webhook, it.url.clone()));
        let as_asked = job.account == asked.account
            && job.key == asked.key
            && job.tier == asked.tier
            && price == asked.unit()
            && callback == asked.callback.clone().filter(|_| asked.size.is_none())
            && job.member().is_some() == asked.size.is_some()
            && (job.origin == Origin::Synchronous) == asked.synchronous
            && job.state == JobState::Queued;
        if !as_asked {
            self.fault(format!(
                "request {request} was accepted with other fields: {job:?}"
            ));
        }
        let newest = self
            .jobs
            .iter()
            .rev()
            .find(|(_, it)| it.account == job.account);
        if newest.is_some_and(|(id, _)| id.0 > job.id.0) {
            self.fault(format!(
                "job {} sorts before one that was accepted before it",
                job.id
            ));
        }
        if let Some(member) = job.member() {
            self.joined.push(JoinedJob {
                batch: member.batch,
                job: job.id,
                index: member.index,
            });
        } else if let Some(name) = &asked.name {
            let used = KeyUse {
                account: job.account,
                call: b's',
                name: name.clone(),
                expires_at: at + self.rules.retention,
            };
            self.name_recorded(&used, Made::Job(job.id), at, changed);
        } else if asked.made.len() as u64 >= asked.issues {
            self.fault(format!(
                "request {request} was sent {} times and has one job more",
                asked.issues
            ));
        }
        let known = KnownJob {
            number: self.jobs.len(),
            request,
            account: job.account,
            key: job.key,
            tier: job.tier,
            price,
            synchronous: asked.synchronous,
            charges: 0,
            created_at: at,
            expiry: None,
            status: JobStatus::Queued,
            ended_at: None,
            batch: job.member().map(|it| it.batch),
            fetched: false,
        };
        trace.push(format!(
            "job {} accepted for request {request}",
            known.number
        ));
        self.count("jobs");
        if job.member().is_none() {
            self.requests[request].made.push(job.id.0);
        }
        self.jobs.insert(job.id, known);
        if let Some(after) = asked.cancel_after
            && !changed.expiries.contains_key(&(job.id, at + after))
        {
            self.fault(format!(
                "request {request} was accepted without its deadline"
            ));
        }
        // No commit of an earlier life is in flight.
        if !asked.sent {
            self.fault(format!("request {request} was not sent in this life"));
        }
        if self.paused[job.tier.index()] {
            self.fault(format!("request {request} was accepted while paused"));
        }
        match self.key_states.terms_in(job.key, &changed.keys) {
            Some(limits) => self.hold(job.account, job.key, price, at, limits),
            None => self.fault(format!(
                "request {request} was accepted under an inactive key"
            )),
        }
    }

    fn job_progressed(&mut self, job: &Job, begun: &[JobId], trace: &mut Vec<String>) {
        let Some(known) = self.jobs.get(&job.id).cloned() else {
            return;
        };
        let JobState::Processing { started_at, runs } = job.state else {
            self.fault(format!(
                "job {} went from {:?} to {}",
                known.number,
                known.status,
                job.state.as_str()
            ));
            return;
        };
        let now = JobStatus::Processing {
            started_at: started_at.millis(),
            runs,
        };
        trace.push(format!(
            "job {} {:?} -> {now:?}",
            known.number, known.status
        ));
        if self.inputs_fetched(job, &known, now) {
            return;
        }
        if known.status == JobStatus::Queued && self.of_batch(job.id, |it| it.was_canceled) {
            self.fault(format!("job {} of a canceled batch began", known.number));
        }
        let life = self.life_events.entry(job.id).or_default();
        let first_of_life = !std::mem::replace(&mut life.begun, true);
        life.begun_at.get_or_insert(self.uptime);
        let fits = match known.status {
            JobStatus::Queued => {
                runs == 1 && started_at.millis() >= known.created_at && first_of_life
            }
            JobStatus::Processing {
                started_at: at,
                runs: before,
            } => {
                // A job begins again once per life; an orderly stop subtracts its run.
                let again = runs == before + 1 && runs <= self.rules.max_runs && first_of_life;
                let cut_off = runs + 1 == before && self.stopping;
                (again || cut_off) && at == started_at.millis()
            }
            JobStatus::Done | JobStatus::Failed => false,
        };
        if !fits {
            self.fault(format!(
                "job {} went from {:?} to {now:?}",
                known.number, known.status
            ));
        }
        if first_of_life {
            self.check_backends_of_start(&known);
        }
        if known.status == JobStatus::Queued {
            self.check_turn(&known, begun);
        }
        if let Some(known) = self.jobs.get_mut(&job.id) {
            known.status = now;
        }
    }

    /// Does the change record the input images of the job, and nothing else?
    fn inputs_fetched(&mut self, job: &Job, known: &KnownJob, now: JobStatus) -> bool {
        if job.inputs.is_empty() || known.fetched {
            return false;
        }
        let life = self.life_events.entry(job.id).or_default();
        let were_fetched = job.inputs.iter().all(|it| life.fetched.contains(&it.bytes));
        if !were_fetched || now != known.status {
            self.fault(format!(
                "job {} has input images that were not fetched, or more has changed: {job:?}",
                known.number
            ));
        }
        if let Some(known) = self.jobs.get_mut(&job.id) {
            known.fetched = true;
        }
        self.count("input images fetched");
        true
    }

    /// Checks the order of jobs: first in, first out within an account and tier, single jobs before batch jobs, and no paused tier.
    fn check_turn(&mut self, known: &KnownJob, begun: &[JobId]) {
        let before = self.jobs.iter().find(|(id, it)| {
            let waits = it.status == JobStatus::Queued && !begun.contains(id);
            let line = it.account == known.account && it.tier == known.tier;
            // Jobs of waiting callers are ignored: the caller may be gone, and its job about to be canceled.
            let goes_first = it.batch.is_none() || known.batch.is_some();
            waits && line && goes_first && it.number < known.number && !it.synchronous
        });
        if let Some((_, before)) = before.filter(|(id, _)| {
            let is_alone = self.life_events.get(id).is_some_and(|it| it.cancel_asked);
            !is_alone && !self.of_batch(**id, |it| it.cancel_asked)
        }) {
            let text = format!("job {} began before job {}", known.number, before.number);
            self.fault(text);
        }
        if self.paused[known.tier.index()] && self.uptime > self.paused_since + BEGIN_GRACE {
            self.fault(format!("job {} of a paused tier began", known.number));
        }
    }

    fn job_ended(&mut self, job: &Job, trace: &mut Vec<String>) -> Option<JobEnd> {
        let Some(known) = self.jobs.get(&job.id).cloned() else {
            self.fault(format!("job {} ended without having begun", job.id));
            return None;
        };
        let batch_is_canceled = self.of_batch(job.id, |it| it.canceled);
        let may_expire = self.may_expire(job.id);
        let may_time_out = self.may_time_out(job.id, &known);
        let is_expired = matches!(&job.state, JobState::Failed { error, .. } if error == EXPIRED);
        let life = self.life_events.entry(job.id).or_default();
        let started = match known.status {
            JobStatus::Processing { started_at, .. } => Some(started_at),
            _ => None,
        };
        let timed_out = FailureKind::TimedOut;
        let in_pause = may_time_out
            && matches!(&job.state, JobState::Failed { kind, .. } if *kind == timed_out)
            && !life.allowed_failures.contains(&timed_out);
        let (done, at, fits) = match (&job.state, known.status) {
            (
                JobState::Done {
                    started_at,
                    finished_at,
                    image,
                },
                JobStatus::Processing { .. },
            ) => {
                let kept = life.kept.contains(&image.bytes);
                let in_order = Some(started_at.millis()) == started && finished_at >= started_at;
                (true, finished_at.millis(), kept && in_order)
            }
            (
                JobState::Failed {
                    started_at,
                    finished_at,
                    kind,
                    ..
                },
                before,
            ) => {
                let cause = match (kind, before) {
                    (FailureKind::Canceled, JobStatus::Queued) if is_expired => may_expire,
                    (FailureKind::Canceled, JobStatus::Queued) => {
                        life.cancel_asked || known.synchronous || batch_is_canceled
                    }
                    (FailureKind::Interrupted, JobStatus::Processing { runs, .. }) => {
                        runs >= self.rules.max_runs && !life.begun
                    }
                    (kind, JobStatus::Processing { .. }) => {
                        in_pause || life.allowed_failures.contains(kind)
                    }
                    _ => false,
                };
                let in_order = started_at.map(|it| it.millis()) == started
                    && finished_at.millis() >= started.unwrap_or(known.created_at);
                (false, finished_at.millis(), cause && in_order)
            }
            _ => (false, 0, false),
        };
        trace.push(format!(
            "job {} {:?} -> {}",
            known.number,
            known.status,
            job.state.as_str()
        ));
        if !fits {
            self.fault(format!(
                "job {} went from {:?} to {:?} without cause",
                known.number, known.status, job.state
            ));
        }
        if in_pause {
            self.count("jobs failed after a wait for the end of a pause");
        }
        self.count(match &job.state {
            _ if is_expired => "jobs expired",
            JobState::Failed {
                kind: FailureKind::Canceled,
                ..
            } => "jobs canceled",
            JobState::Failed {
                kind: FailureKind::Interrupted,
                ..
            } => "jobs interrupted",
            JobState::Failed { .. } => "jobs failed",
            _ => "jobs done",
        });
        let is_canceled = matches!(
            &job.state,
            JobState::Failed {
                kind: FailureKind::Canceled,
                ..
            }
        );
        if is_canceled && !is_expired {
            self.audited_changes
                .insert((Action::JobCancel.as_str(), job.id.0));
        }
        if let Some(known) = self.jobs.get_mut(&job.id) {
            known.ended_at = Some(at);
            known.status = if done {
                JobStatus::Done
            } else {
                JobStatus::Failed
            };
        }
        Some(JobEnd {
            job: job.id,
            account: known.account,
            key: known.key,
            price: known.price,
            done,
            at,
            synchronous: known.synchronous,
            in_batch: known.batch.is_some(),
            callback: self.requests[known.request].callback.clone(),
        })
    }
}
