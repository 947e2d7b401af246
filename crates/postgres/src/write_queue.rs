//! The queue of rounds and commits, and the keys that rounds hold.
//!
//! Missing rows cannot be locked, and a failed database lock costs a round trip. So rounds of this process with a common key
//! run one after another here, and database locks only separate processes.
//!
//! A process that is stopped inside a transaction keeps its locks for seconds. So the groups that wait for locks leave one writer to
//! the rounds that need not wait.

use crate::pacing::{GroupNumber, Pacing};
use parking_lot::{Mutex, MutexGuard};
use std::collections::{HashSet, VecDeque};
use tintype_storage::engine::{Commit, EngineError, Key, Round};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

/// Maximum number of rounds per transaction.
const MAX_ROUNDS: usize = 128;
/// The same for rounds that wait for locks of other processes: meanwhile they keep the locks they have.
const MAX_WAITING_ROUNDS: usize = 16;
/// Maximum number of commits per transaction.
const MAX_COMMITS: usize = 1_024;
/// A transaction of this size takes no further commit.
const MAX_BYTES: usize = 1 << 20;

/// This many rounds and commits justify a second concurrent transaction. Fewer wait and share the next one, because a
/// transaction costs the database more than its rows do.
const MIN_CONCURRENT_GROUP: usize = 32;

/// A round with the keys that it holds.
pub struct HeldRound {
    pub keys: Vec<Key>,
    pub round: Box<dyn Round>,
    /// Another process had locked a key: the next transaction waits for the lock.
    pub waits: bool,
}

/// The work of one transaction. Its rounds have no key in common, neither with each other nor with another group in flight.
#[derive(Default)]
pub struct Group {
    pub rounds: Vec<HeldRound>,
    /// In the order of submission.
    pub commits: Vec<Commit>,
    number: GroupNumber,
}

impl Group {
    pub fn is_empty(&self) -> bool {
        self.rounds.is_empty() && self.commits.is_empty()
    }

    pub fn waits(&self) -> bool {
        self.rounds.iter().any(|it| it.waits)
    }

    /// The resources to release at the group's end.
    pub fn held(&self) -> HeldResources {
        HeldResources {
            number: self.number,
            held: self.rounds.iter().flat_map(|it| it.keys.clone()).collect(),
            had_commits: !self.commits.is_empty(),
            has_waited: self.waits(),
        }
    }
}

/// The resources that a group held.
pub struct HeldResources {
    number: GroupNumber,
    held: Vec<Key>,
    had_commits: bool,
    has_waited: bool,
}

pub struct WriteQueue {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    rounds: VecDeque<HeldRound>,
    commits: VecDeque<Commit>,
    held: HashSet<Key>,
    /// Only one group at a time has commits, so that commits become visible in the order of submission.
    is_committing: bool,
    /// Groups in flight that wait for locks of other processes.
    waiting_groups: usize,
    max_waiting_groups: usize,
    /// Without the groups that wait for locks of other processes.
    pacing: Pacing,
    closing: Option<EngineError>,
}

impl WriteQueue {
    /// `writers` is the number of tasks that take groups.
    pub fn new(writers: u8) -> Self {
        let state = State {
            max_waiting_groups: usize::from(writers.saturating_sub(1).max(1)),
            ..State::default()
        };
        Self {
            state: Mutex::new(state),
            changed: Notify::default(),
        }
    }

    pub fn add_round(&self, round: Box<dyn Round>) {
        let keys = round.locked_keys();
        let mut state = self.state.lock();
        if let Some(error) = state.closing.clone() {
            drop(state);
            return round.done(Err(error));
        }
        state.rounds.push_back(HeldRound {
            keys,
            round,
            waits: false,
        });
        self.notify(state);
    }

    pub fn add_commit(&self, commit: Commit) {
        let mut state = self.state.lock();
        if let Some(error) = state.closing.clone() {
            drop(state);
            return (commit.done)(Err(error));
        }
        state.commits.push_back(commit);
        self.notify(state);
    }

    /// Wakes a writer if there is a group for it, or if a writer must set its timer. The writers may sleep without a timer while
    /// the first round waits for a lock.
    fn notify(&self, state: MutexGuard<'_, State>) {
        let sets_timer = state.waiting() == 1 || state.rounds.front().is_some_and(|it| it.waits);
        if sets_timer || state.wait_until(Instant::now()).is_none() {
            drop(state);
            self.changed.notify_one();
        }
    }

    /// Waits for the next group; `None` when the queue is closed and no work is left for this writer.
    pub async fn take(&self) -> Option<Group> {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            let wait_until = {
                let mut state = self.state.lock();
                let now = Instant::now();
                let wait_until = state.wait_until(now);
                if wait_until.is_none() {
                    let group = state.begin(now);
                    if !group.is_empty() {
                        if state.waiting() > 0 {
                            self.changed.notify_one();
                        }
                        return Some(group);
                    }
                }
                if state.closing.is_some() && state.waiting() == 0 {
                    return None;
                }
                wait_until.filter(|_| state.waiting() > 0)
            };
            match wait_until {
                Some(moment) => drop(timeout_at(moment, changed).await),
                None => changed.await,
            }
        }
    }

    /// Releases what a group held. The rounds of `again` come first in the next groups.
    pub fn finish(&self, ended: &HeldResources, again: Vec<HeldRound>) {
        let mut state = self.state.lock();
        for key in &ended.held {
            state.held.remove(key);
        }
        state.is_committing &= !ended.had_commits;
        state.waiting_groups -= usize::from(ended.has_waited);
        state.pacing.end(ended.number);
        for round in again.into_iter().rev() {
            state.rounds.push_front(round);
        }
        let is_closing = state.closing.is_some();
        drop(state);
        match is_closing {
            // Every writer checks whether it is done.
            true => self.changed.notify_waiters(),
            false => self.changed.notify_one(),
        }
    }

    /// Accepts nothing more; queued work is still written.
    pub fn close(&self) {
        self.state
            .lock()
            .closing
            .get_or_insert(EngineError::Stopped);
        self.changed.notify_waiters();
    }

    /// Accepts nothing more and refuses queued work.
    pub fn refuse_all(&self, error: &EngineError) {
        let mut state = self.state.lock();
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
}

impl State {
    fn waiting(&self) -> usize {
        self.rounds.len() + self.commits.len()
    }

    /// Until when queued work should wait for a transaction in flight; `None` if it should start at once.
    fn wait_until(&self, now: Instant) -> Option<Instant> {
        let is_worth_another = self.waiting() >= MIN_CONCURRENT_GROUP;
        if is_worth_another || self.takes_waiting_rounds() {
            return None;
        }
        self.pacing.wait_until(now)
    }

    /// Does the next group wait for locks of other processes?
    fn takes_waiting_rounds(&self) -> bool {
        let may_wait = self.waiting_groups < self.max_waiting_groups;
        may_wait && self.rounds.front().is_some_and(|it| it.waits)
    }

    fn begin(&mut self, now: Instant) -> Group {
        let mut group = self.take();
        if group.waits() {
            self.waiting_groups += 1;
        } else if !group.is_empty() {
            group.number = self.pacing.begin(now);
        }
        group
    }

    fn take(&mut self) -> Group {
        let mut group = Group {
            rounds: self.take_rounds(),
            ..Group::default()
        };
        // Commits never wait for the locks of other processes.
        if !self.is_committing && !group.waits() {
            group.commits = self.take_commits();
            self.is_committing = !group.commits.is_empty();
        }
        group
    }

    /// The rounds whose keys are free. A round stays behind every earlier one with a common key, so no round starves.
    fn take_rounds(&mut self) -> Vec<HeldRound> {
        let waits = self.takes_waiting_rounds();
        let most = match waits {
            true => MAX_WAITING_ROUNDS,
            false => MAX_ROUNDS,
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
        while taken.len() < MAX_COMMITS
            && bytes < MAX_BYTES
            && let Some(commit) = self.commits.pop_front()
        {
            bytes += commit.bytes();
            taken.push(commit);
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tintype_storage::engine::RoundStep;
    use tintype_storage::testing::rounds::round_of;
    use tokio::time::timeout;

    const WRITERS: u8 = 3;

    fn key_round(keys: &[&str]) -> Box<dyn Round> {
        Box::new(round_of(keys, |_| RoundStep::Write(Vec::new())))
    }

    fn names(group: &Group) -> Vec<String> {
        let text = |keys: &[Key]| String::from_utf8(keys.concat()).expect("text");
        group.rounds.iter().map(|it| text(&it.keys)).collect()
    }

    fn queue(rounds: &[&'static [&'static str]]) -> WriteQueue {
        let queue = WriteQueue::new(WRITERS);
        for keys in rounds {
            queue.add_round(key_round(keys));
        }
        queue
    }

    fn begin(queue: &WriteQueue) -> Group {
        queue.state.lock().begin(Instant::now())
    }

    #[test]
    fn rounds_that_share_a_key_run_one_after_another() {
        let queue = queue(&[&["a"], &["a", "b"], &["b"], &["c"]]);
        let first = begin(&queue);
        assert_eq!(names(&first), ["a", "c"]);
        assert!(begin(&queue).is_empty(), "b is behind a");
        queue.finish(&first.held(), Vec::new());
        let second = begin(&queue);
        assert_eq!(names(&second), ["ab"]);
        queue.finish(&second.held(), Vec::new());
        assert_eq!(names(&begin(&queue)), ["b"]);
    }

    #[test]
    fn a_round_that_met_a_lock_runs_first_in_a_separate_waiting_group() {
        let queue = queue(&[&["a"], &["b"]]);
        let mut group = begin(&queue);
        let ended = group.held();
        let mut locked = group.rounds.remove(0);
        locked.waits = true;
        queue.add_round(key_round(&["c"]));
        queue.finish(&ended, vec![locked]);
        let next = begin(&queue);
        assert!(next.waits());
        assert_eq!(names(&next), ["a"]);
        assert_eq!(names(&begin(&queue)), ["c"]);
    }

    /// Lets the next group end, because another process has locked its rounds' keys.
    fn meet_locks(queue: &WriteQueue) {
        let group = begin(queue);
        let ended = group.held();
        let mut locked = group.rounds;
        locked.iter_mut().for_each(|it| it.waits = true);
        queue.finish(&ended, locked);
    }

    #[test]
    fn a_writer_is_left_to_the_rounds_that_need_not_wait_for_locks() {
        let queue = queue(&[&["a"]]);
        meet_locks(&queue);
        let first = begin(&queue);
        assert!(first.waits());
        queue.add_round(key_round(&["b"]));
        meet_locks(&queue);
        let second = begin(&queue);
        assert!(second.waits());
        queue.add_round(key_round(&["c"]));
        meet_locks(&queue);
        assert!(begin(&queue).is_empty(), "the last writer is kept free");
        queue.add_round(key_round(&["c", "d"]));
        queue.add_round(key_round(&["e"]));
        let free = begin(&queue);
        assert_eq!(names(&free), ["e"]);
        queue.finish(&first.held(), Vec::new());
        let third = begin(&queue);
        assert!(third.waits());
        assert_eq!(names(&third), ["c"]);
        queue.finish(&third.held(), Vec::new());
        assert_eq!(names(&begin(&queue)), ["cd"]);
    }

    #[test]
    fn a_single_writer_waits_for_locks() {
        let queue = WriteQueue::new(1);
        queue.add_round(key_round(&["a"]));
        meet_locks(&queue);
        assert!(begin(&queue).waits());
    }

    #[tokio::test(start_paused = true)]
    async fn a_round_behind_one_that_may_not_wait_yet_starts_after_the_pacing() {
        let queue = queue(&[&["a"], &["b"], &["c"]]);
        meet_locks(&queue);
        queue.state.lock().waiting_groups = usize::from(WRITERS) - 1;
        queue.add_round(key_round(&["d"]));
        let first = takes_at_once(&queue).await.expect("nothing is under way");
        assert_eq!(names(&first), ["d"]);
        let next = queue.take();
        let add = async {
            tokio::task::yield_now().await;
            queue.add_round(key_round(&["e"]));
        };
        let (next, ()) = tokio::join!(next, add);
        assert_eq!(names(&next.expect("the first one takes long")), ["e"]);
    }

    #[test]
    fn one_group_at_a_time_has_commits() {
        let queue = WriteQueue::new(WRITERS);
        let commit = || Commit {
            writes: Vec::new(),
            done: Box::new(|_| ()),
        };
        queue.add_commit(commit());
        let first = begin(&queue);
        assert_eq!(first.commits.len(), 1);
        queue.add_commit(commit());
        assert!(begin(&queue).is_empty());
        queue.finish(&first.held(), Vec::new());
        assert_eq!(begin(&queue).commits.len(), 1);
    }

    /// Does a writer get a group at once?
    async fn takes_at_once(queue: &WriteQueue) -> Option<Group> {
        let at_once = timeout(Duration::ZERO, queue.take());
        at_once.await.ok().flatten()
    }

    #[tokio::test(start_paused = true)]
    async fn a_small_group_waits_for_the_running_transaction_unless_it_takes_long() {
        let queue = queue(&[&["a"]]);
        let first = takes_at_once(&queue).await.expect("nothing is under way");
        queue.add_round(key_round(&["b"]));
        queue.add_round(key_round(&["c"]));
        assert!(takes_at_once(&queue).await.is_none());
        queue.finish(&first.held(), Vec::new());
        let second = takes_at_once(&queue)
            .await
            .expect("the first one has ended");
        assert_eq!(names(&second), ["b", "c"]);
        queue.add_round(key_round(&["d"]));
        // The waiting writer's timer fires without a notification.
        let third = queue.take().await.expect("the second one takes long");
        assert_eq!(names(&third), ["d"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_large_group_starts_beside_a_running_transaction() {
        let queue = queue(&[&["a"]]);
        drop(takes_at_once(&queue).await.expect("nothing is under way"));
        // These rounds hold no keys, so they do not block each other.
        (1..MIN_CONCURRENT_GROUP).for_each(|_| queue.add_round(key_round(&[])));
        assert!(takes_at_once(&queue).await.is_none());
        queue.add_round(key_round(&[]));
        let second = takes_at_once(&queue).await.expect("so many are worth it");
        assert_eq!(second.rounds.len(), MIN_CONCURRENT_GROUP);
    }
}
