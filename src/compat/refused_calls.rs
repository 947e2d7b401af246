//! Calls that were refused a moment ago, so that an automatic retry of one is not taken for a retry of an earlier, successful call.

use crate::application::file_batches::RETRY_WINDOW;
use parking_lot::Mutex;
use std::collections::VecDeque;
use tintype_storage::domain::file_batch::FileBatchTerms;
use tintype_storage::domain::ids::KeyId;
use tintype_storage::domain::time::Timestamp;

/// A process forgets the oldest refusal beyond this number. A retry of that call then returns the earlier batch.
const MAX: usize = 1_000;

#[derive(Default)]
pub struct RefusedCalls(Mutex<VecDeque<(Timestamp, KeyId, FileBatchTerms)>>);

impl RefusedCalls {
    /// Records the refusal of a first attempt.
    pub fn add(&self, key: KeyId, terms: FileBatchTerms, now: Timestamp) {
        let mut calls = self.0.lock();
        calls.retain(|(at, ..)| now <= at.plus(RETRY_WINDOW));
        calls.truncate(MAX - 1);
        calls.push_front((now, key, terms));
    }

    /// The time of the newest refusal of this call.
    pub fn last(&self, key: KeyId, terms: &FileBatchTerms) -> Option<Timestamp> {
        let calls = self.0.lock();
        let mut same = calls.iter().filter(|(_, of, it)| *of == key && it == terms);
        same.next().map(|(at, ..)| *at)
    }
}
