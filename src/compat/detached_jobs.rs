//! Jobs that go on although their callers have disconnected. They are remembered for two minutes, so that a caller who repeats the
//! very same request gets the picture that was made for it instead of paying for a second one.
//!
//! SDKs retry: one after a lost connection, others after a 504 when configured to. Requests with an `Idempotency-Key` do not need
//! this.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::time::Duration;
use tintype_storage::domain::ids::{JobId, KeyId};
use tintype_storage::domain::request::Fingerprint;
use tintype_storage::domain::time::Timestamp;

/// How long a caller has to repeat its request.
const PATIENCE: Duration = Duration::from_secs(120);
/// Jobs that are remembered; beyond that the oldest are forgotten.
const MAX: usize = 10_000;

/// What identifies a request without an idempotency key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    pub key: KeyId,
    pub fingerprint: Fingerprint,
}

struct DetachedJob {
    request: Request,
    job: JobId,
    until: Timestamp,
}

/// The jobs that go on without a caller.
#[derive(Default)]
pub struct DetachedJobs(Mutex<VecDeque<DetachedJob>>);

impl DetachedJobs {
    /// Remembers a job.
    pub fn leave(&self, request: Request, job: JobId, now: Timestamp) {
        let mut detached_jobs = self.0.lock();
        while detached_jobs
            .front()
            .is_some_and(|oldest| oldest.until <= now || detached_jobs.len() >= MAX)
        {
            detached_jobs.pop_front();
        }
        detached_jobs.push_back(DetachedJob {
            request,
            job,
            until: now.plus(PATIENCE),
        });
    }

    /// Has a job of this key been detached? Then a call may be a repeat.
    pub fn has_any(&self, key: KeyId, now: Timestamp) -> bool {
        let detached_jobs = self.0.lock();
        let mut of_key = detached_jobs.iter().filter(|job| job.request.key == key);
        of_key.any(|job| job.until > now)
    }

    /// A detached job of this request; each is given out once.
    pub fn take(&self, request: Request, now: Timestamp) -> Option<JobId> {
        let mut detached_jobs = self.0.lock();
        let at = detached_jobs
            .iter()
            .position(|job| job.request == request && job.until > now)?;
        detached_jobs.remove(at).map(|job| job.job)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn request(key: u128, what: u8) -> Request {
        Request {
            key: KeyId(Uuid::from_u128(key)),
            fingerprint: Fingerprint([what; 32]),
        }
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    #[test]
    fn each_is_given_once_to_the_same_request_in_time() {
        let detached_jobs = DetachedJobs::default();
        let jobs = [1, 2, 3].map(|id| JobId(Uuid::from_u128(id)));
        detached_jobs.leave(request(1, 1), jobs[0], at(0));
        detached_jobs.leave(request(1, 1), jobs[1], at(100));
        detached_jobs.leave(request(2, 1), jobs[2], at(100));
        assert_eq!(detached_jobs.take(request(1, 2), at(101)), None);
        let has_any = |key, now| detached_jobs.has_any(request(key, 0).key, at(now));
        assert!(has_any(1, 101) && has_any(2, 219));
        assert!(!has_any(3, 101) && !has_any(2, 220));
        assert_eq!(detached_jobs.take(request(1, 1), at(119)), Some(jobs[0]));
        assert_eq!(detached_jobs.take(request(1, 1), at(119)), Some(jobs[1]));
        assert_eq!(detached_jobs.take(request(1, 1), at(119)), None);
        assert_eq!(detached_jobs.take(request(2, 1), at(220)), None, "too late");
        detached_jobs.leave(request(1, 1), jobs[0], at(300));
        assert_eq!(
            detached_jobs.0.lock().len(),
            1,
            "what is too old is forgotten"
        );
    }

    #[test]
    fn past_a_bound_the_oldest_are_forgotten() {
        let detached_jobs = DetachedJobs::default();
        for id in 0..=MAX as u128 {
            detached_jobs.leave(request(id, 1), JobId(Uuid::from_u128(id)), at(0));
        }
        assert_eq!(detached_jobs.0.lock().len(), MAX);
        assert_eq!(detached_jobs.take(request(0, 1), at(1)), None);
    }
}
