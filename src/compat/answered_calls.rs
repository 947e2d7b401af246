//! Calls that were answered a moment ago. If the answer is lost on its way, for example in a proxy, an SDK repeats the call. It then gets
//! the image of the first attempt instead of paying for a second one.
//!
//! A call with an `Idempotency-Key` does not need this, and a call whose caller has disconnected is a [detached
//! job](super::detached_jobs).

use super::detached_jobs::RequestIdentity;
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;
use tintype_storage::domain::ids::{JobId, KeyId};
use tintype_storage::domain::time::Timestamp;

const RETENTION: Duration = Duration::from_secs(120);
/// Beyond this number the oldest calls are dropped.
const MAX_CALLS: usize = 10_000;
/// Beyond this number the keys whose refusals are old are dropped.
const MAX_KEYS: usize = 1_000;

struct AnsweredCall {
    request: RequestIdentity,
    attempt: u32,
    job: JobId,
    at: Timestamp,
}

#[derive(Default)]
struct Calls {
    /// Oldest first.
    answered: VecDeque<AnsweredCall>,
    /// The last refusal of a first attempt.
    refused: HashMap<KeyId, Timestamp>,
}

#[derive(Default)]
pub struct AnsweredCalls(Mutex<Calls>);

impl AnsweredCalls {
    /// `attempt` counts the SDK's attempts at this call from 0.
    pub fn add(&self, request: RequestIdentity, attempt: u32, job: JobId, now: Timestamp) {
        let answered = &mut self.0.lock().answered;
        while answered
            .front()
            .is_some_and(|oldest| oldest.at.plus(RETENTION) <= now || answered.len() >= MAX_CALLS)
        {
            answered.pop_front();
        }
        answered.push_back(AnsweredCall {
            request,
            attempt,
            job,
            at: now,
        });
    }

    /// Records the refusal of a first attempt. A retry of that call must not be taken for a retry of an earlier one with the same
    /// content. The content is often unknown when a call is refused, so this applies to all calls of the key.
    pub fn refuse(&self, key: KeyId, now: Timestamp) {
        let refused = &mut self.0.lock().refused;
        if refused.len() >= MAX_KEYS {
            refused.retain(|_, at| now < at.plus(RETENTION));
        }
        refused.insert(key, now);
    }

    /// Removes and returns the job of the newest call that this attempt may repeat.
    pub fn take(&self, request: RequestIdentity, attempt: u32, now: Timestamp) -> Option<JobId> {
        let calls = &mut *self.0.lock();
        let refused_at = calls.refused.get(&request.key);
        let at = calls.answered.iter().rposition(|it| {
            it.request == request
                && it.attempt < attempt
                && now < it.at.plus(RETENTION)
                && refused_at.is_none_or(|refused_at| *refused_at < it.at)
        })?;
        calls.answered.remove(at).map(|call| call.job)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tintype_storage::domain::request::Fingerprint;
    use uuid::Uuid;

    fn request(what: u8) -> RequestIdentity {
        RequestIdentity {
            key: KeyId(Uuid::from_u128(1)),
            fingerprint: Fingerprint([what; 32]),
        }
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    fn job(id: u128) -> JobId {
        JobId(Uuid::from_u128(id))
    }

    #[test]
    fn a_retry_takes_the_newest_earlier_attempt_once() {
        let calls = AnsweredCalls::default();
        calls.add(request(1), 0, job(1), at(0));
        calls.add(request(1), 0, job(2), at(1));
        assert_eq!(calls.take(request(1), 0, at(2)), None, "a further call");
        assert_eq!(calls.take(request(2), 1, at(2)), None, "another request");
        assert_eq!(calls.take(request(1), 1, at(2)), Some(job(2)));
        assert_eq!(calls.take(request(1), 2, at(2)), Some(job(1)));
        assert_eq!(calls.take(request(1), 2, at(2)), None);
        calls.add(request(1), 1, job(1), at(3));
        assert_eq!(calls.take(request(1), 1, at(4)), None, "the same attempt");
        assert_eq!(calls.take(request(1), 2, at(123)), None, "too late");
    }

    #[test]
    fn a_retry_of_a_refused_call_is_a_call_of_its_own() {
        let calls = AnsweredCalls::default();
        calls.add(request(1), 0, job(1), at(0));
        calls.refuse(request(1).key, at(1));
        assert_eq!(calls.take(request(1), 1, at(2)), None);
        calls.add(request(1), 1, job(2), at(3));
        assert_eq!(calls.take(request(1), 2, at(4)), Some(job(2)));
    }

    #[test]
    fn beyond_the_limits_the_oldest_are_dropped() {
        let calls = AnsweredCalls::default();
        for id in 0..=MAX_CALLS as u128 {
            calls.add(request(1), 0, job(id), at(0));
        }
        assert_eq!(calls.0.lock().answered.len(), MAX_CALLS);
        for id in 0..=MAX_KEYS as u128 {
            calls.refuse(KeyId(Uuid::from_u128(id)), at(id as i64 * 60));
        }
        assert_eq!(calls.0.lock().refused.len(), 2);
    }
}
