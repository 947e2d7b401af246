//! Jobs that continue after their callers have disconnected. They are kept for two minutes, so that an identical request gets the
//! image of the job instead of paying for a second one.
//!
//! SDKs retry: one after a lost connection, others after a 504 if configured. A request with an `Idempotency-Key` does not need this.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::time::Duration;
use tintype_storage::domain::ids::{JobId, KeyId};
use tintype_storage::domain::request::Fingerprint;
use tintype_storage::domain::time::Timestamp;

const RETENTION: Duration = Duration::from_secs(120);
/// Beyond this number the oldest jobs are dropped.
const MAX_JOBS: usize = 10_000;

/// Identifies a request without an idempotency key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestIdentity {
    pub key: KeyId,
    pub fingerprint: Fingerprint,
}

struct DetachedJob {
    request: RequestIdentity,
    job: JobId,
    expires_at: Timestamp,
}

#[derive(Default)]
pub struct DetachedJobs(Mutex<VecDeque<DetachedJob>>);

impl DetachedJobs {
    pub fn add(&self, request: RequestIdentity, job: JobId, now: Timestamp) {
        let mut detached_jobs = self.0.lock();
        while detached_jobs
            .front()
            .is_some_and(|oldest| oldest.expires_at <= now || detached_jobs.len() >= MAX_JOBS)
        {
            detached_jobs.pop_front();
        }
        detached_jobs.push_back(DetachedJob {
            request,
            job,
            expires_at: now.plus(RETENTION),
        });
    }

    /// Whether the key has a detached job, so that a request may be a repeat.
    pub fn has_any(&self, key: KeyId, now: Timestamp) -> bool {
        let detached_jobs = self.0.lock();
        let mut of_key = detached_jobs.iter().filter(|job| job.request.key == key);
        of_key.any(|job| job.expires_at > now)
    }

    /// Removes and returns a detached job of this request.
    pub fn take(&self, request: RequestIdentity, now: Timestamp) -> Option<JobId> {
        let mut detached_jobs = self.0.lock();
        let at = detached_jobs
            .iter()
            .position(|job| job.request == request && job.expires_at > now)?;
        detached_jobs.remove(at).map(|job| job.job)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn request(key: u128, what: u8) -> RequestIdentity {
        RequestIdentity {
            key: KeyId(Uuid::from_u128(key)),
            fingerprint: Fingerprint([what; 32]),
        }
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    #[test]
    fn an_identical_request_takes_each_job_once_before_it_expires() {
        let detached_jobs = DetachedJobs::default();
        let jobs = [1, 2, 3].map(|id| JobId(Uuid::from_u128(id)));
        detached_jobs.add(request(1, 1), jobs[0], at(0));
        detached_jobs.add(request(1, 1), jobs[1], at(100));
        detached_jobs.add(request(2, 1), jobs[2], at(100));
        assert_eq!(detached_jobs.take(request(1, 2), at(101)), None);
        let has_any = |key, now| detached_jobs.has_any(request(key, 0).key, at(now));
        assert!(has_any(1, 101) && has_any(2, 219));
        assert!(!has_any(3, 101) && !has_any(2, 220));
        assert_eq!(detached_jobs.take(request(1, 1), at(119)), Some(jobs[0]));
        assert_eq!(detached_jobs.take(request(1, 1), at(119)), Some(jobs[1]));
        assert_eq!(detached_jobs.take(request(1, 1), at(119)), None);
        assert_eq!(detached_jobs.take(request(2, 1), at(220)), None, "too late");
        detached_jobs.add(request(1, 1), jobs[0], at(300));
        assert_eq!(detached_jobs.0.lock().len(), 1, "expired jobs are dropped");
    }

    #[test]
    fn beyond_the_limit_the_oldest_are_dropped() {
        let detached_jobs = DetachedJobs::default();
        for id in 0..=MAX_JOBS as u128 {
            detached_jobs.add(request(id, 1), JobId(Uuid::from_u128(id)), at(0));
        }
        assert_eq!(detached_jobs.0.lock().len(), MAX_JOBS);
        assert_eq!(detached_jobs.take(request(0, 1), at(1)), None);
    }
}
