//! Recent calls that a new call may repeat, because SDKs retry without an `Idempotency-Key`. A repeated call gets what the earlier call
//! created, and does not pay for a second image or store a second file.
//!
//! - The caller of a *waiting* call is connected, as far as the server knows. A proxy may hide that it has disconnected, so that an SDK
//!   repeats the call.
//! - The caller of a *detached* call has disconnected, or was answered before the job ended.
//! - The answer to an *answered* call may be lost on its way, for example in a proxy, so that an SDK repeats the call.

mod expiring_queue;
mod refused_calls;

pub use refused_calls::RefusedCalls;

use expiring_queue::{Entry, ExpiringQueue, OwnedByKey};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tintype_storage::domain::ids::KeyId;
use tintype_storage::domain::request::Fingerprint;
use tintype_storage::domain::time::Timestamp;

/// Beyond this number old calls are dropped: detached and answered ones each.
const MAX_CALLS: usize = 10_000;

/// The identity of a request without an idempotency key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestIdentity {
    pub key: KeyId,
    pub fingerprint: Fingerprint,
}

impl OwnedByKey for RequestIdentity {
    fn owner(&self) -> KeyId {
        self.key
    }
}

/// A call that a repeated call takes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EarlierCall<T> {
    pub created: T,
    /// Its caller has disconnected, or may have. The job is then canceled if it has not started and no caller watches it.
    pub is_abandoned: bool,
}

/// `T` is the id of what a call created.
pub struct RecentCalls<T> {
    /// The number of waiting calls so far. A number is used once.
    count: AtomicU64,
    /// By number, so oldest first. They neither expire nor are dropped.
    waiting: Mutex<BTreeMap<u64, Attempt<T>>>,
    detached: ExpiringQueue<RequestIdentity, EarlierCall<T>>,
    answered: ExpiringQueue<RequestIdentity, Created<T>>,
    /// Refused first attempts. `None`: the call was refused before its content was known.
    refused: RefusedCalls<(KeyId, Option<Fingerprint>)>,
}

type Attempt<T> = Entry<RequestIdentity, Created<T>>;

#[derive(Clone, Copy)]
struct Created<T> {
    id: T,
    /// The SDK's attempts at this call before the one that created it.
    attempt: u32,
}

impl<T: Copy + PartialEq> RecentCalls<T> {
    pub fn new(retention: Duration) -> Self {
        Self {
            count: AtomicU64::default(),
            waiting: Mutex::default(),
            detached: ExpiringQueue::new(retention, MAX_CALLS),
            answered: ExpiringQueue::new(retention, MAX_CALLS),
            refused: RefusedCalls::new(retention),
        }
    }

    /// Adds a waiting call and returns its number. `attempt` counts the SDK's attempts at this call from 0.
    pub fn begin(&self, request: RequestIdentity, attempt: u32, id: T, now: Timestamp) -> u64 {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let call = Entry {
            key: request,
            value: Created { id, attempt },
            at: now,
        };
        self.waiting.lock().insert(number, call);
        number
    }

    /// Removes a waiting call. Returns false if a retry has taken it over.
    pub fn remove_waiting(&self, number: u64) -> bool {
        self.waiting.lock().remove(&number).is_some()
    }

    pub fn detach(&self, request: RequestIdentity, call: EarlierCall<T>, now: Timestamp) {
        self.detached.push(request, call, now);
    }

    /// Removes the detached call that created this.
    pub fn remove_detached(&self, created: T, now: Timestamp) {
        self.detached
            .take(now, |call| call.value.created == created);
    }

    pub fn record_answered(&self, request: RequestIdentity, attempt: u32, id: T, now: Timestamp) {
        self.answered.push(request, Created { id, attempt }, now);
    }

    /// Records the refusal of a first attempt. `content` is `None` if the call was refused before its content was known.
    pub fn record_refused(&self, key: KeyId, content: Option<Fingerprint>, now: Timestamp) {
        self.refused.add((key, content), now);
    }

    /// Returns the outcome of a call. Records that a first attempt was refused, so that its retry is not taken for a retry of an
    /// earlier call that was answered.
    pub fn record_if_refused<R, E>(
        &self,
        attempt: u32,
        (key, content): (KeyId, Option<Fingerprint>),
        outcome: Result<R, E>,
        now: Timestamp,
    ) -> Result<R, E> {
        if outcome.is_err() && attempt == 0 {
            self.record_refused(key, content, now);
        }
        outcome
    }

    /// When a first attempt was refused last that may have been this request.
    fn refused_at(&self, request: RequestIdentity, now: Timestamp) -> Option<Timestamp> {
        let last = |content| self.refused.last(&(request.key, content), now);
        last(Some(request.fingerprint)).max(last(None))
    }

    /// Removes and returns the call that this one repeats: the newest detached one, or, if an SDK numbers its attempts, the oldest
    /// waiting or else the newest answered earlier attempt. Ignores attempts before the last refusal of the same request:
    /// this attempt may be a retry of the refused call.
    pub fn take(
        &self,
        request: RequestIdentity,
        attempt: Option<u32>,
        now: Timestamp,
    ) -> Option<EarlierCall<T>> {
        let detached = self.detached.take(now, |call| call.key == request);
        if detached.is_some() {
            return detached;
        }
        let attempt = attempt?;
        let refused_at = self.refused_at(request, now);
        let may_repeat = |call: &Attempt<T>| {
            call.key == request
                && call.value.attempt < attempt
                && refused_at.is_none_or(|refused_at| refused_at < call.at)
        };
        let oldest = self.take_waiting(may_repeat);
        let is_abandoned = oldest.is_some();
        let created = oldest.or_else(|| self.answered.take(now, may_repeat))?;
        Some(EarlierCall {
            created: created.id,
            is_abandoned,
        })
    }

    /// Removes and returns the oldest of the wanted waiting calls.
    fn take_waiting(&self, is_wanted: impl Fn(&Attempt<T>) -> bool) -> Option<Created<T>> {
        let mut waiting = self.waiting.lock();
        let mut wanted = waiting.extract_if(.., |_, call| is_wanted(call));
        wanted.next().map(|(_, call)| call.value)
    }

    /// Whether a call with the key may repeat an earlier one.
    pub fn has_earlier(&self, key: KeyId, attempt: Option<u32>, now: Timestamp) -> bool {
        let detached = self.detached.newest(now, |call| call.key.key == key);
        detached.is_some()
            || attempt.is_some_and(|attempt| {
                let is_earlier =
                    |call: &Attempt<T>| call.key.key == key && call.value.attempt < attempt;
                let is_waiting = self.waiting.lock().values().any(is_earlier);
                is_waiting || self.answered.newest(now, is_earlier).is_some()
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn calls() -> RecentCalls<u8> {
        RecentCalls::new(Duration::from_secs(120))
    }

    fn earlier(created: u8, is_abandoned: bool) -> Option<EarlierCall<u8>> {
        Some(EarlierCall {
            created,
            is_abandoned,
        })
    }

    fn answered(created: u8) -> Option<EarlierCall<u8>> {
        earlier(created, false)
    }

    fn waiting(created: u8) -> Option<EarlierCall<u8>> {
        earlier(created, true)
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
        calls.record_answered(request(1), 0, 1, at(0));
        calls.record_answered(request(1), 0, 2, at(1));
        assert_eq!(
            calls.take(request(1), Some(0), at(2)),
            None,
            "a further call"
        );
        assert_eq!(
            calls.take(request(2), Some(1), at(2)),
            None,
            "another request"
        );
        assert_eq!(calls.take(request(1), Some(1), at(2)), answered(2));
        assert_eq!(calls.take(request(1), Some(2), at(2)), answered(1));
        assert_eq!(calls.take(request(1), Some(2), at(2)), None);
        calls.record_answered(request(1), 1, 1, at(3));
        assert_eq!(
            calls.take(request(1), Some(1), at(4)),
            None,
            "the same attempt"
        );
        assert_eq!(calls.take(request(1), Some(2), at(123)), None, "too late");
    }

    #[test]
    fn a_retry_of_a_refused_call_is_a_separate_call() {
        let calls_of = |content| {
            let calls = calls();
            calls.record_answered(request(1), 0, 1, at(0));
            calls.record_refused(request(1).key, content, at(1));
            calls
        };
        for content in [None, Some(request(1).fingerprint)] {
            let calls = calls_of(content);
            assert_eq!(calls.take(request(1), Some(1), at(2)), None);
            calls.record_answered(request(1), 1, 2, at(3));
            assert_eq!(calls.take(request(1), Some(2), at(4)), answered(2));
        }
        let of_another_request = calls_of(Some(request(2).fingerprint));
        assert_eq!(
            of_another_request.take(request(1), Some(1), at(2)),
            answered(1)
        );
    }

    #[test]
    fn the_refusals_of_first_attempts_are_recorded() {
        let calls = calls();
        calls.record_answered(request(1), 0, 1, at(0));
        let note = |attempt, outcome: Result<(), ()>| {
            let call = (request(1).key, Some(request(1).fingerprint));
            calls.record_if_refused(attempt, call, outcome, at(1))
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
        calls.record_answered(request(1), 1, 1, at(0));
        let has = |attempt, now| calls.has_earlier(request(9).key, Some(attempt), now);
        assert!(has(2, at(119)) && !has(1, at(119)) && !has(2, at(120)));
        assert!(!calls.has_earlier(KeyId(Uuid::from_u128(2)), Some(2), at(1)));
    }

    #[test]
    fn many_refusals_of_a_key_leave_those_of_other_keys() {
        let calls = calls();
        calls.record_answered(request(1), 0, 1, at(0));
        calls.record_refused(request(1).key, None, at(1));
        for number in 0..2_000_u32 {
            let mut content = [0; 32];
            content[..4].copy_from_slice(&number.to_le_bytes());
            let content = Some(Fingerprint(content));
            calls.record_refused(KeyId(Uuid::from_u128(2)), content, at(1));
        }
        assert_eq!(calls.take(request(1), Some(1), at(2)), None);
    }

    #[test]
    fn a_retry_takes_over_each_waiting_call_of_earlier_attempts_once() {
        let calls = calls();
        let first = calls.begin(request(1), 0, 1, at(0));
        let second = calls.begin(request(1), 0, 2, at(0));
        let take = |what, attempt| calls.take(request(what), Some(attempt), at(1));
        assert_eq!(take(1, 0), None, "a further call");
        assert_eq!(take(2, 1), None, "another request");
        assert_eq!(take(1, 1), waiting(1));
        let retry = calls.begin(request(1), 1, 1, at(1));
        assert_eq!(take(1, 1), waiting(2));
        assert_eq!(take(1, 1), None, "the same attempt");
        assert!(!calls.remove_waiting(first) && !calls.remove_waiting(second));
        let has = |key, attempt| calls.has_earlier(key, Some(attempt), at(1_000));
        assert!(has(request(1).key, 2) && !has(request(1).key, 1));
        assert!(!has(KeyId(Uuid::from_u128(2)), 2));
        assert!(calls.remove_waiting(retry));
        assert_eq!(take(1, 2), None);
    }

    #[test]
    fn a_retry_of_a_refused_call_leaves_the_waiting_calls_before_the_refusal() {
        let calls = calls();
        calls.begin(request(1), 0, 1, at(0));
        calls.record_refused(request(1).key, None, at(0));
        assert_eq!(calls.take(request(1), Some(1), at(2)), None);
        calls.begin(request(1), 0, 2, at(2));
        calls.record_refused(request(1).key, None, at(1));
        assert_eq!(calls.take(request(1), Some(1), at(2)), waiting(2));
    }

    #[test]
    fn a_detached_call_comes_first_then_the_oldest_waiting_then_the_newest_answered_one() {
        let calls = calls();
        for number in 1..=2 {
            calls.record_answered(request(1), 0, number, at(0));
            calls.begin(request(1), 0, number + 2, at(0));
            let detached = earlier(number + 4, number == 1).unwrap();
            calls.detach(request(1), detached, at(0));
        }
        let expected = [
            (6, false),
            (5, true),
            (3, true),
            (4, true),
            (2, false),
            (1, false),
        ];
        for (created, is_abandoned) in expected {
            let taken = calls.take(request(1), Some(1), at(1));
            assert_eq!(taken, earlier(created, is_abandoned));
        }
        assert_eq!(calls.take(request(1), Some(1), at(1)), None);
    }

    #[test]
    fn a_call_without_a_numbered_attempt_repeats_only_detached_ones() {
        let calls = calls();
        calls.record_answered(request(1), 0, 1, at(0));
        calls.begin(request(1), 0, 2, at(0));
        let has = || calls.has_earlier(request(1).key, None, at(1));
        assert!(!has());
        let detached = earlier(3, true).unwrap();
        calls.detach(request(1), detached, at(0));
        calls.record_refused(request(1).key, None, at(1));
        assert!(has());
        assert_eq!(calls.take(request(1), None, at(1)), Some(detached));
        assert_eq!(calls.take(request(1), None, at(1)), None);
        calls.detach(request(1), detached, at(1));
        calls.remove_detached(3, at(1));
        assert!(!has());
    }
}
