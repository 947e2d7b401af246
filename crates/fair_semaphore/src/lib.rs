//! A weighted semaphore whose waiters take turns by key: one key with a thousand waiters delays the only waiter of another key by
//! one turn.
//!
//! Within a key, waiters are served first in, first out. A key holds at most its share. A smaller request never overtakes the next
//! waiter in turn, so large requests do not starve.

#[cfg(test)]
mod tests;

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::oneshot;

/// A semaphore of `capacity` units. Clones share them.
#[derive(Debug)]
pub struct FairSemaphore<K: Eq + Clone>(Arc<Inner<K>>);

impl<K: Eq + Clone> Clone for FairSemaphore<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

#[derive(Debug)]
struct Inner<K: Eq + Clone> {
    per_key: u64,
    state: Mutex<State<K>>,
}

#[derive(Debug)]
struct State<K: Eq + Clone> {
    free: u64,
    held: Vec<(K, u64)>,
    /// Waiting keys, in the order of their turns. Each key occurs once, with at least one waiter.
    turns: VecDeque<(K, VecDeque<Waiter<K>>)>,
}

#[derive(Debug)]
struct Waiter<K: Eq + Clone> {
    units: u64,
    grant: oneshot::Sender<Permit<K>>,
}

/// Holds units until it is dropped.
#[derive(Debug)]
#[must_use = "dropping it releases the units"]
pub struct Permit<K: Eq + Clone> {
    semaphore: FairSemaphore<K>,
    key: K,
    units: u64,
}

impl<K: Eq + Clone> FairSemaphore<K> {
    /// One key may hold `per_key` of the `capacity` units.
    pub fn new(capacity: u64, per_key: u64) -> Self {
        Self(Arc::new(Inner {
            per_key: per_key.min(capacity),
            state: Mutex::new(State {
                free: capacity,
                held: Vec::new(),
                turns: VecDeque::new(),
            }),
        }))
    }

    /// One key may hold `limit` units, and all keys together have no limit. A limit of 1 is a mutex for each key.
    pub fn per_key(limit: u64) -> Self {
        Self::new(u64::MAX, limit)
    }

    /// Waits for `units`, or for a key's share if that is smaller: a larger request would wait forever.
    pub async fn acquire(&self, key: K, units: u64) -> Permit<K> {
        let (grant, granted) = oneshot::channel();
        let units = units.min(self.0.per_key);
        {
            let mut state = self.0.state.lock();
            state.enqueue(key.clone(), Waiter { units, grant });
            state.grant(self);
        }
        let mut waiting = Waiting {
            semaphore: self,
            granted,
        };
        match (&mut waiting.granted).await {
            Ok(permit) => permit,
            // The sender is dropped only after it has sent a permit, or together with its waiter.
            Err(_) => std::future::pending().await,
        }
    }

    /// Takes `units` if they are free and no waiter is ahead.
    pub fn try_acquire(&self, key: K, units: u64) -> Option<Permit<K>> {
        let units = units.min(self.0.per_key);
        let mut state = self.0.state.lock();
        let fits = units <= state.free && state.held(&key) + units <= self.0.per_key;
        if !fits || state.has_eligible_waiter(self.0.per_key) {
            return None;
        }
        state.take(&key, units);
        Some(self.permit(key, units))
    }

    pub fn free(&self) -> u64 {
        self.0.state.lock().free
    }

    fn permit(&self, key: K, units: u64) -> Permit<K> {
        Permit {
            semaphore: self.clone(),
            key,
            units,
        }
    }
}

/// A call of [`FairSemaphore::acquire`].
struct Waiting<'a, K: Eq + Clone> {
    semaphore: &'a FairSemaphore<K>,
    granted: oneshot::Receiver<Permit<K>>,
}

impl<K: Eq + Clone> Drop for Waiting<'_, K> {
    /// A cancelled waiter may have been the next in turn, so that others waited only for it.
    fn drop(&mut self) {
        if !self.granted.is_terminated() {
            self.granted.close();
            self.semaphore.0.state.lock().grant(self.semaphore);
        }
    }
}

impl<K: Eq + Clone> State<K> {
    fn held(&self, key: &K) -> u64 {
        let held = self.held.iter().find(|(holder, _)| holder == key);
        held.map_or(0, |(_, units)| *units)
    }

    fn take(&mut self, key: &K, units: u64) {
        self.free -= units;
        match self.held.iter_mut().find(|(holder, _)| holder == key) {
            Some((_, held)) => *held += units,
            None => self.held.push((key.clone(), units)),
        }
    }

    fn release(&mut self, key: &K, units: u64) {
        self.free += units;
        if let Some(at) = self.held.iter().position(|(holder, _)| holder == key) {
            self.held[at].1 -= units;
            if self.held[at].1 == 0 {
                self.held.swap_remove(at);
            }
        }
    }

    fn enqueue(&mut self, key: K, waiter: Waiter<K>) {
        match self.turns.iter_mut().find(|(waiting, _)| *waiting == key) {
            Some((_, waiters)) => {
                // Removes cancelled waiters, which would accumulate behind a slow holder.
                waiters.retain(|it| !it.grant.is_closed());
                waiters.push_back(waiter);
            }
            None => self.turns.push_back((key, VecDeque::from([waiter]))),
        }
    }

    /// Does a waiter wait only for free units, and not for its key's share?
    fn has_eligible_waiter(&self, per_key: u64) -> bool {
        self.turns.iter().any(|(key, waiters)| {
            let held = self.held(key);
            let mut waiting = waiters.iter().filter(|it| !it.grant.is_closed());
            waiting.next().is_some_and(|it| held + it.units <= per_key)
        })
    }

    /// Grants free units, turn by turn.
    fn grant(&mut self, semaphore: &FairSemaphore<K>) {
        let mut at = 0;
        while let Some((key, waiters)) = self.turns.get_mut(at) {
            while waiters.front().is_some_and(|it| it.grant.is_closed()) {
                waiters.pop_front();
            }
            let Some(units) = waiters.front().map(|it| it.units) else {
                self.turns.remove(at);
                continue;
            };
            let key = key.clone();
            if self.held(&key) + units > semaphore.0.per_key {
                at += 1;
                continue;
            }
            if units > self.free {
                return;
            }
            self.grant_first(at, key, semaphore);
        }
    }

    /// Grants the first waiter of a key, and moves the key behind all others.
    fn grant_first(&mut self, at: usize, key: K, semaphore: &FairSemaphore<K>) {
        let Some((_, mut waiters)) = self.turns.remove(at) else {
            return;
        };
        if let Some(Waiter { units, grant }) = waiters.pop_front() {
            match grant.send(semaphore.permit(key.clone(), units)) {
                Ok(()) => self.take(&key, units),
                // Its units were not taken yet, and its `drop` would deadlock on the state's lock.
                Err(permit) => std::mem::forget(permit),
            }
        }
        if !waiters.is_empty() {
            self.turns.push_back((key, waiters));
        }
    }
}

impl<K: Eq + Clone> Drop for Permit<K> {
    fn drop(&mut self) {
        let mut state = self.semaphore.0.state.lock();
        state.release(&self.key, self.units);
        state.grant(&self.semaphore);
    }
}
