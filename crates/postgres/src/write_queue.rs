//! The rounds and commits that wait for a writer, and the keys that are held.
//!
//! Rows that are absent cannot be locked, and a lock of the database costs a round trip to be refused; so rounds of this process
//! that share a key follow each other here, and the locks of the database are for other processes alone.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tintype_storage::engine::{Commit, EngineError, Key, Round, Value};
use tokio::sync::Notify;

/// Rounds in one transaction at the most.
const MOST_ROUNDS: usize = 128;
/// The same for rounds that wait for locks of other processes: they hold all that they have meanwhile.
const MOST_WAITING_ROUNDS: usize = 16;
/// Commits in one transaction at the most.
const MOST_COMMITS: usize = 1_024;
/// Bytes of commits from which on a transaction takes no further one.
const MOST_BYTES: usize = 1 << 20;

/// A round with the keys that it holds.
pub struct HeldRound {
    pub keys: Vec<Key>,
    pub round: Box<dyn Round>,
    /// Another process had locked a key: the next transaction waits for it.
    pub waits: bool,
}

/// What one transaction takes. Its rounds share no key with each other, nor with those of another group under way.
#[derive(Default)]
pub struct Group {
    pub rounds: Vec<HeldRound>,
    /// In the order of their submission.
    pub commits: Vec<Commit>,
}

impl Group {
    pub fn is_empty(&self) -> bool {
        self.rounds.is_empty() && self.commits.is_empty()
    }

    /// Does it wait for locks?
    pub fn waits(&self) -> bool {
        self.rounds.iter().any(|it| it.waits)
    }
}

#[derive(Default)]
pub struct WriteQueue {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    rounds: VecDeque<HeldRound>,
    commits: VecDeque<Commit>,
    held: HashSet<Key>,
    /// One group at a time has commits, so that they appear in the order of their submission.
    is_committing: bool,
    closing: Option<EngineError>,
}

impl WriteQueue {
    pub fn add_round(&self, round: Box<dyn Round>) {
        let keys = round.holds();
        let mut state = self.state();
        if let Some(error) = state.closing.clone() {
            drop(state);
            return round.done(Err(error));
        }
        state.rounds.push_back(HeldRound {
            keys,
            round,
            waits: false,
        });
        drop(state);
        self.changed.notify_one();
    }

    pub fn add_commit(&self, commit: Commit) {
        let mut state = self.state();
        if let Some(error) = state.closing.clone() {
            drop(state);
            return (commit.done)(Err(error));
        }
        state.commits.push_back(commit);
        drop(state);
        self.changed.notify_one();
    }

    /// The next group, once there is one; `None` once the queue is closed and nothing is left for this writer.
    pub async fn take(&self) -> Option<Group> {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            {
                let mut state = self.state();
                let group = state.take();
                if !group.is_empty() {
                    if !(state.rounds.is_empty() && state.commits.is_empty()) {
                        self.changed.notify_one();
                    }
                    return Some(group);
                }
                if state.closing.is_some() && state.rounds.is_empty() && state.commits.is_empty() {
                    return None;
                }
            }
            changed.await;
        }
    }

    /// Lets go of what a group held. The rounds of `again` come first in the next groups.
    pub fn finish(&self, held: &[Key], had_commits: bool, again: Vec<HeldRound>) {
        let mut state = self.state();
        for key in held {
            state.held.remove(key);
        }
        state.is_committing &= !had_commits;
        for round in again.into_iter().rev() {
            state.rounds.push_front(round);
        }
        let is_closing = state.closing.is_some();
        drop(state);
        match is_closing {
            // Every writer looks whether it is done.
            true => self.changed.notify_waiters(),
            false => self.changed.notify_one(),
        }
    }

    /// Takes nothing more; what waits is still written.
    pub fn close(&self) {
        self.state().closing.get_or_insert(EngineError::Stopped);
        self.changed.notify_waiters();
    }

    /// Takes nothing more, and refuses what waits.
    pub fn refuse_all(&self, error: &EngineError) {
        let mut state = self.state();
        state.closing.get_or_insert(EngineError::Stopped);
        let rounds = std::mem::take(&mut state.rounds);
        let commits = std::mem::take(&mut state.commits);
        drop(state);
        self.changed.notify_waiters();
        for round in rounds {
            round.round.done(Err(error.clone()));
        }
        for commit in commits {
            (commit.done)(Err(error.clone()));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn take(&mut self) -> Group {
        let mut group = Group {
            rounds: self.take_rounds(),
            commits: Vec::new(),
        };
        // Commits never wait for the locks of other processes.
        if !self.is_committing && !group.waits() {
            group.commits = self.take_commits();
            self.is_committing = !group.commits.is_empty();
        }
        group
    }

    /// The rounds whose keys are free. A round stays behind every earlier one that shares a key with it, so no round starves.
    fn take_rounds(&mut self) -> Vec<HeldRound> {
        let waits = self.rounds.front().is_some_and(|it| it.waits);
        let most = match waits {
            true => MOST_WAITING_ROUNDS,
            false => MOST_ROUNDS,
        };
        let (mut taken, mut passed_over) = (Vec::new(), VecDeque::new());
        let mut behind: HashSet<Key> = HashSet::new();
        while taken.len() < most
            && let Some(round) = self.rounds.pop_front()
        {
            let is_free = |key: &Key| !self.held.contains(key) && !behind.contains(key);
            if round.waits == waits && round.keys.iter().all(is_free) {
                self.held.extend(round.keys.iter().cloned());
                taken.push(round);
            } else {
                behind.extend(round.keys.iter().cloned());
                passed_over.push_back(round);
            }
        }
        passed_over.append(&mut self.rounds);
        self.rounds = passed_over;
        taken
    }

    fn take_commits(&mut self) -> Vec<Commit> {
        let (mut taken, mut bytes) = (Vec::new(), 0);
        while taken.len() < MOST_COMMITS
            && bytes < MOST_BYTES
            && let Some(commit) = self.commits.pop_front()
        {
            let sizes = commit
                .writes
                .iter()
                .map(|(key, value)| size(key, value.as_ref()));
            bytes += sizes.sum::<usize>();
            taken.push(commit);
        }
        taken
    }
}

/// Bytes of a key and its value.
pub fn size(key: &[u8], value: Option<&Value>) -> usize {
    key.len() + value.map_or(0, Vec::len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tintype_storage::engine::{Ask, Seen, Verdict};

    struct Named(&'static [&'static str]);

    impl Round for Named {
        fn holds(&self) -> Vec<Key> {
            self.0.iter().map(|key| key.as_bytes().to_vec()).collect()
        }

        fn needs(&self) -> Vec<Ask> {
            Vec::new()
        }

        fn decide(&mut self, _: &Seen) -> Verdict {
            Verdict::Write(Vec::new())
        }

        fn done(self: Box<Self>, _: Result<(), EngineError>) {}
    }

    fn names(group: &Group) -> Vec<String> {
        let text = |keys: &[Key]| String::from_utf8(keys.concat()).expect("text");
        group.rounds.iter().map(|it| text(&it.keys)).collect()
    }

    fn queue(rounds: &[&'static [&'static str]]) -> WriteQueue {
        let queue = WriteQueue::default();
        for keys in rounds {
            queue.add_round(Box::new(Named(keys)));
        }
        queue
    }

    #[test]
    fn rounds_that_share_a_key_follow_each_other() {
        let queue = queue(&[&["a"], &["a", "b"], &["b"], &["c"]]);
        assert_eq!(names(&queue.state().take()), ["a", "c"]);
        assert!(queue.state().take().is_empty(), "b is behind a");
        queue.finish(&[b"a".to_vec()], false, Vec::new());
        assert_eq!(names(&queue.state().take()), ["ab"]);
        queue.finish(&[b"a".to_vec(), b"b".to_vec()], false, Vec::new());
        assert_eq!(names(&queue.state().take()), ["b"]);
    }

    #[test]
    fn a_round_that_found_a_lock_comes_first_and_waits_apart() {
        let queue = queue(&[&["a"], &["b"]]);
        let mut group = queue.state().take();
        let mut locked = group.rounds.remove(0);
        locked.waits = true;
        queue.add_round(Box::new(Named(&["c"])));
        queue.finish(&[b"a".to_vec(), b"b".to_vec()], false, vec![locked]);
        let next = queue.state().take();
        assert!(next.waits());
        assert_eq!(names(&next), ["a"]);
        assert_eq!(names(&queue.state().take()), ["c"]);
    }

    #[test]
    fn one_group_at_a_time_has_commits() {
        let queue = WriteQueue::default();
        let commit = || Commit {
            writes: Vec::new(),
            done: Box::new(|_| ()),
        };
        queue.add_commit(commit());
        assert_eq!(queue.state().take().commits.len(), 1);
        queue.add_commit(commit());
        assert!(queue.state().take().is_empty());
        queue.finish(&[], true, Vec::new());
        assert_eq!(queue.state().take().commits.len(), 1);
    }
}
