//! Calls without an `Idempotency-Key` whose callers wait for their jobs. A proxy may hide that a caller has disconnected, so that an
//! SDK repeats a call that still waits. The retry takes over the job instead of paying for a second one.

use super::request_identity::RequestIdentity;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use tintype_storage::domain::ids::{JobId, KeyId};
use tintype_storage::domain::time::Timestamp;

#[derive(Default)]
pub struct WaitingCalls(Mutex<Calls>);

#[derive(Default)]
struct Calls {
    /// The number of calls so far. A number is used once.
    count: u64,
    /// Oldest first.
    waiting: BTreeMap<u64, WaitingCall>,
}

struct WaitingCall {
    request: RequestIdentity,
    attempt: u32,
    job: JobId,
    since: Timestamp,
}

impl WaitingCalls {
    /// Returns the number of the call. `attempt` counts the SDK's attempts at this call from 0.
    pub fn add(&self, request: RequestIdentity, attempt: u32, job: JobId, now: Timestamp) -> u64 {
        let mut calls = self.0.lock();
        calls.count += 1;
        let number = calls.count;
        let call = WaitingCall {
            request,
            attempt,
            job,
            since: now,
        };
        calls.waiting.insert(number, call);
        number
    }

    /// Returns false if a retry has taken over the job.
    pub fn remove(&self, number: u64) -> bool {
        self.0.lock().waiting.remove(&number).is_some()
    }

    /// Removes the oldest call that this attempt may repeat, and returns its job. A call that began before the last refusal of the
    /// same request is left: the attempt may be a retry of the refused call.
    pub fn take(
        &self,
        request: RequestIdentity,
        attempt: u32,
        refused_at: Option<Timestamp>,
    ) -> Option<JobId> {
        let mut calls = self.0.lock();
        let may_repeat = |call: &WaitingCall| {
            call.request == request
                && call.attempt < attempt
                && refused_at.is_none_or(|refused_at| refused_at < call.since)
        };
        let mut numbers = calls.waiting.iter();
        let number = *numbers.find(|(_, call)| may_repeat(call))?.0;
        calls.waiting.remove(&number).map(|call| call.job)
    }

    /// Whether this attempt with the key may repeat a call.
    pub fn has_earlier(&self, key: KeyId, attempt: u32) -> bool {
        let calls = self.0.lock();
        let mut waiting = calls.waiting.values();
        waiting.any(|call| call.request.key == key && call.attempt < attempt)
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

    fn job(number: u128) -> JobId {
        JobId(Uuid::from_u128(number))
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    #[test]
    fn a_retry_takes_over_each_job_of_earlier_attempts_once() {
        let calls = WaitingCalls::default();
        let first = calls.add(request(1), 0, job(1), at(0));
        let second = calls.add(request(1), 0, job(2), at(0));
        let take = |what, attempt| calls.take(request(what), attempt, None);
        assert_eq!(take(1, 0), None, "a further call");
        assert_eq!(take(2, 1), None, "another request");
        assert_eq!(take(1, 1), Some(job(1)));
        let retry = calls.add(request(1), 1, job(1), at(1));
        assert_eq!(take(1, 1), Some(job(2)));
        assert_eq!(take(1, 1), None, "the same attempt");
        assert!(!calls.remove(first) && !calls.remove(second));
        assert!(calls.has_earlier(request(1).key, 2));
        assert!(!calls.has_earlier(request(1).key, 1));
        assert!(!calls.has_earlier(KeyId(Uuid::from_u128(2)), 2));
        assert!(calls.remove(retry));
        assert_eq!(take(1, 2), None);
    }

    #[test]
    fn a_retry_of_a_refused_call_leaves_the_calls_before_the_refusal() {
        let calls = WaitingCalls::default();
        calls.add(request(1), 0, job(1), at(0));
        assert_eq!(calls.take(request(1), 1, Some(at(0))), None);
        calls.add(request(1), 0, job(2), at(2));
        assert_eq!(calls.take(request(1), 1, Some(at(1))), Some(job(2)));
    }
}
