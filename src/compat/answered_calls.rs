//! Calls that were answered a moment ago. If the answer is lost on its way, for example in a proxy, an SDK repeats the call. It then gets
//! what the first attempt created, instead of paying for a second image or storing a second file.
//!
//! A call with an `Idempotency-Key` does not need this. A call whose caller has disconnected is a detached job instead.

use super::expiring_queue::ExpiringQueue;
use super::refused_calls::RefusedCalls;
use super::request_identity::RequestIdentity;
use std::time::Duration;
use tintype_storage::domain::ids::KeyId;
use tintype_storage::domain::request::Fingerprint;
use tintype_storage::domain::time::Timestamp;

/// Beyond this number old calls are dropped.
const MAX_CALLS: usize = 10_000;

/// `T` is the id of what a call created.
pub struct AnsweredCalls<T> {
    answered: ExpiringQueue<RequestIdentity, Answered<T>>,
    /// Refused first attempts. `None`: the call was refused before its content was known.
    refused: RefusedCalls<(KeyId, Option<Fingerprint>)>,
}

struct Answered<T> {
    attempt: u32,
    created: T,
}

impl<T> AnsweredCalls<T> {
    pub fn new(retention: Duration) -> Self {
        Self {
            answered: ExpiringQueue::new(retention, MAX_CALLS),
            refused: RefusedCalls::new(retention),
        }
    }

    /// `attempt` counts the SDK's attempts at this call from 0.
    pub fn add(&self, request: RequestIdentity, attempt: u32, created: T, now: Timestamp) {
        let answered = Answered { attempt, created };
        self.answered.push(request, answered, now);
    }

    /// Records the refusal of a first attempt. `content` is `None` if the call was refused before its content was known.
    pub fn refuse(&self, key: KeyId, content: Option<Fingerprint>, now: Timestamp) {
        self.refused.add((key, content), now);
    }

    /// Returns the outcome of a call. Records that a first attempt was refused, so that its retry is not taken for a retry of an
    /// earlier call that was answered.
    pub fn note_refusal<R, E>(
        &self,
        attempt: u32,
        (key, content): (KeyId, Option<Fingerprint>),
        outcome: Result<R, E>,
        now: Timestamp,
    ) -> Result<R, E> {
        if outcome.is_err() && attempt == 0 {
            self.refuse(key, content, now);
        }
        outcome
    }

    /// When a first attempt was refused last that may have been this request.
    pub fn refused_at(&self, request: RequestIdentity, now: Timestamp) -> Option<Timestamp> {
        let last = |content| self.refused.last(&(request.key, content), now);
        last(Some(request.fingerprint)).max(last(None))
    }

    /// Removes the newest call that this attempt may repeat, and returns what it created.
    pub fn take(&self, request: RequestIdentity, attempt: u32, now: Timestamp) -> Option<T> {
        let refused_at = self.refused_at(request, now);
        let taken = self.answered.take(now, |call| {
            call.key == request
                && call.value.attempt < attempt
                && refused_at.is_none_or(|refused_at| refused_at < call.at)
        });
        taken.map(|call| call.created)
    }

    /// Whether this attempt with the key may repeat a call.
    pub fn has_earlier(&self, key: KeyId, attempt: u32, now: Timestamp) -> bool {
        let newest = self.answered.newest(now, |call| {
            call.key.key == key && call.value.attempt < attempt
        });
        newest.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn calls() -> AnsweredCalls<u8> {
        AnsweredCalls::new(Duration::from_secs(120))
    }

    fn request(what: u8) -> RequestIdentity {
        RequestIdentity {
            key: KeyId(Uuid::from_u128(1)),
            fingerprint: Fingerprint([what; 32]),
        }
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    #[test]
    fn a_retry_takes_the_newest_earlier_attempt_once() {
        let calls = calls();
        calls.add(request(1), 0, 1, at(0));
        calls.add(request(1), 0, 2, at(1));
        assert_eq!(calls.take(request(1), 0, at(2)), None, "a further call");
        assert_eq!(calls.take(request(2), 1, at(2)), None, "another request");
        assert_eq!(calls.take(request(1), 1, at(2)), Some(2));
        assert_eq!(calls.take(request(1), 2, at(2)), Some(1));
        assert_eq!(calls.take(request(1), 2, at(2)), None);
        calls.add(request(1), 1, 1, at(3));
        assert_eq!(calls.take(request(1), 1, at(4)), None, "the same attempt");
        assert_eq!(calls.take(request(1), 2, at(123)), None, "too late");
    }

    #[test]
    fn a_retry_of_a_refused_call_is_a_separate_call() {
        let calls_of = |content| {
            let calls = calls();
            calls.add(request(1), 0, 1, at(0));
            calls.refuse(request(1).key, content, at(1));
            calls
        };
        for content in [None, Some(request(1).fingerprint)] {
            let calls = calls_of(content);
            assert_eq!(calls.take(request(1), 1, at(2)), None);
            calls.add(request(1), 1, 2, at(3));
            assert_eq!(calls.take(request(1), 2, at(4)), Some(2));
        }
        let of_another_request = calls_of(Some(request(2).fingerprint));
        assert_eq!(of_another_request.take(request(1), 1, at(2)), Some(1));
    }

    #[test]
    fn the_refusals_of_first_attempts_are_recorded() {
        let calls = calls();
        calls.add(request(1), 0, 1, at(0));
        let note = |attempt, outcome: Result<(), ()>| {
            let call = (request(1).key, Some(request(1).fingerprint));
            calls.note_refusal(attempt, call, outcome, at(1))
        };
        assert_eq!(note(0, Ok(())), Ok(()));
        assert_eq!(note(1, Err(())), Err(()));
        assert_eq!(calls.refused_at(request(1), at(2)), None);
        assert_eq!(note(0, Err(())), Err(()));
        assert_eq!(calls.refused_at(request(1), at(2)), Some(at(1)));
        assert_eq!(calls.refused_at(request(2), at(2)), None);
    }

    #[test]
    fn earlier_attempts_of_a_key_are_known() {
        let calls = calls();
        calls.add(request(1), 1, 1, at(0));
        let has = |attempt, now| calls.has_earlier(request(9).key, attempt, now);
        assert!(has(2, at(119)) && !has(1, at(119)) && !has(2, at(120)));
        assert!(!calls.has_earlier(KeyId(Uuid::from_u128(2)), 2, at(1)));
    }

    #[test]
    fn many_refusals_of_a_key_leave_those_of_other_keys() {
        let calls = calls();
        calls.add(request(1), 0, 1, at(0));
        calls.refuse(request(1).key, None, at(1));
        for number in 0..2_000_u32 {
            let mut content = [0; 32];
            content[..4].copy_from_slice(&number.to_le_bytes());
            let content = Some(Fingerprint(content));
            calls.refuse(KeyId(Uuid::from_u128(2)), content, at(1));
        }
        assert_eq!(calls.take(request(1), 1, at(2)), None);
    }
}
