//! What backends and the object store do for jobs.

use super::{JobStatus, Model};
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::job::FailureKind;

impl Model {
    /// A backend receives a task for this job.
    pub fn generating(&mut self, job: JobId, prompt: &str) {
        self.count("tries");
        let Some(known) = self.jobs.get(&job).cloned() else {
            self.fault(format!(
                "a backend is asked for job {job}, which is not durable"
            ));
            return;
        };
        let begun = self.life_events.get(&job).is_some_and(|it| it.begun);
        if !begun || !matches!(known.status, JobStatus::Processing { .. }) {
            self.fault(format!(
                "a backend is asked for job {}, which is {:?} and has no durable run in this life",
                known.number, known.status
            ));
        }
        if prompt != format!("request {}", known.request) {
            self.fault(format!("job {} is asked for with {prompt:?}", known.number));
        }
    }

    pub fn fetched(&mut self, job: JobId, bytes: u64) {
        self.life_events.entry(job).or_default().fetched.push(bytes);
    }

    pub fn kept(&mut self, job: JobId, bytes: u64) {
        self.life_events.entry(job).or_default().kept.push(bytes);
    }

    /// The job may fail in this way from now on.
    pub fn allow_failure(&mut self, job: JobId, kind: FailureKind) {
        self.life_events
            .entry(job)
            .or_default()
            .allowed_failures
            .push(kind);
    }

    /// The prompt of a request could not be read, so its jobs may fail.
    pub fn prompt_failed(&mut self, key: &str) {
        let number = key
            .strip_prefix("words/")
            .and_then(|it| it.parse::<usize>().ok());
        let jobs = self
            .jobs
            .iter()
            .filter(|(_, it)| Some(it.request) == number);
        let jobs: Vec<JobId> = jobs.map(|(id, _)| *id).collect();
        for job in jobs {
            self.allow_failure(job, FailureKind::Broken);
        }
    }
}
