//! Jobs that go on though their callers have gone: kept in mind for a while, so that one who comes back with the very same
//! request gets the picture that was made for it, and does not pay for a second one.
//!
//! Clients repeat by themselves what broke off: one SDK does so after a lost connection, others after a 504 when they are told
//! to. Those who name their requests with an `Idempotency-Key` need none of this.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::time::Duration;
use tintype_storage::domain::ids::{JobId, KeyId};
use tintype_storage::domain::request::Fingerprint;
use tintype_storage::domain::time::Timestamp;

/// How long a caller has to come back.
const PATIENCE: Duration = Duration::from_secs(120);
/// More are forgotten, the oldest first.
const MAX: usize = 10_000;

/// Whose request, and what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The key that asked.
    pub key: KeyId,
    /// What it asked for.
    pub fingerprint: Fingerprint,
}

struct Orphan {
    request: Request,
    job: JobId,
    until: Timestamp,
}

/// The jobs that nobody waits for.
#[derive(Default)]
pub struct Orphans(Mutex<VecDeque<Orphan>>);

impl Orphans {
    /// Keeps a job in mind.
    pub fn leave(&self, request: Request, job: JobId, now: Timestamp) {
        let mut orphans = self.0.lock();
        while orphans
            .front()
            .is_some_and(|oldest| oldest.until <= now || orphans.len() >= MAX)
        {
            orphans.pop_front();
        }
        orphans.push_back(Orphan {
            request,
            job,
            until: now.plus(PATIENCE),
        });
    }

    /// Was any job left that was asked for with this key? Then the call in hand may be one who comes back.
    pub fn has_any(&self, key: KeyId, now: Timestamp) -> bool {
        let orphans = self.0.lock();
        let mut of_key = orphans.iter().filter(|orphan| orphan.request.key == key);
        of_key.any(|orphan| orphan.until > now)
    }

    /// A job that was left by this request; each is given out once.
    pub fn take(&self, request: Request, now: Timestamp) -> Option<JobId> {
        let mut orphans = self.0.lock();
        let at = orphans
            .iter()
            .position(|orphan| orphan.request == request && orphan.until > now)?;
        orphans.remove(at).map(|orphan| orphan.job)
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
        let orphans = Orphans::default();
        let jobs = [1, 2, 3].map(|id| JobId(Uuid::from_u128(id)));
        orphans.leave(request(1, 1), jobs[0], at(0));
        orphans.leave(request(1, 1), jobs[1], at(100));
        orphans.leave(request(2, 1), jobs[2], at(100));
        assert_eq!(orphans.take(request(1, 2), at(101)), None);
        let has_any = |key, now| orphans.has_any(request(key, 0).key, at(now));
        assert!(has_any(1, 101) && has_any(2, 219));
        assert!(!has_any(3, 101) && !has_any(2, 220));
        assert_eq!(orphans.take(request(1, 1), at(119)), Some(jobs[0]));
        assert_eq!(orphans.take(request(1, 1), at(119)), Some(jobs[1]));
        assert_eq!(orphans.take(request(1, 1), at(119)), None);
        assert_eq!(orphans.take(request(2, 1), at(220)), None, "too late");
        orphans.leave(request(1, 1), jobs[0], at(300));
        assert_eq!(orphans.0.lock().len(), 1, "what is too old is forgotten");
    }

    #[test]
    fn past_a_bound_the_oldest_are_forgotten() {
        let orphans = Orphans::default();
        for id in 0..=MAX as u128 {
            orphans.leave(request(id, 1), JobId(Uuid::from_u128(id)), at(0));
        }
        assert_eq!(orphans.0.lock().len(), MAX);
        assert_eq!(orphans.take(request(0, 1), at(1)), None);
    }
}
