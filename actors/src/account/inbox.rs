//! The inbox of an account actor: commands wait here, without an actor message each.
//!
//! A message to a sleeping actor costs a system call and a thread switch. An actor whose round is in flight cannot decide anything, so
//! commands that arrive meanwhile wait here, and the end of the round wakes the actor only if there are any.

use parking_lot::Mutex;
use std::collections::VecDeque;

/// Any thread adds items. The actor takes them, or a caller who finds it asleep.
pub struct Inbox<T> {
    state: Mutex<State<T>>,
    capacity: usize,
}

struct State<T> {
    queue: VecDeque<T>,
    stage: Stage,
    closed: bool,
}

#[derive(PartialEq)]
enum Stage {
    /// A sender must wake the actor, or take the items itself.
    Asleep,
    /// The actor or a sender will call [`Inbox::take`].
    Awake,
    /// The taken items are being decided and committed.
    Committing,
}

/// What a sender must do after a put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutOutcome {
    /// Nothing: the actor will take the item.
    Queued,
    Wake,
    /// Refuse the caller: the inbox is full or closed and has dropped the item.
    Refused,
}

impl<T> Inbox<T> {
    pub fn new(capacity: usize) -> Self {
        let state = Mutex::new(State {
            queue: VecDeque::new(),
            stage: Stage::Asleep,
            closed: false,
        });
        Self { state, capacity }
    }

    /// Appends an item. A full inbox drops a refusable item.
    pub fn put(&self, item: T, is_refusable: bool) -> PutOutcome {
        let mut state = self.state.lock();
        if state.closed || is_refusable && state.queue.len() >= self.capacity {
            return PutOutcome::Refused;
        }
        state.queue.push_back(item);
        match state.stage {
            Stage::Asleep => {
                state.stage = Stage::Awake;
                PutOutcome::Wake
            }
            Stage::Awake | Stage::Committing => PutOutcome::Queued,
        }
    }

    /// Drops all items and refuses all further ones.
    pub fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        state.queue.clear();
    }

    /// Takes up to `limit` items, which are in flight until [`Inbox::end_commit`]. Returns none while others are in flight. If the
    /// inbox is empty, the next sender must wake the actor.
    pub fn take(&self, limit: usize) -> Vec<T> {
        let mut state = self.state.lock();
        if state.stage == Stage::Committing {
            return Vec::new();
        }
        let count = state.queue.len().min(limit);
        state.stage = match count {
            0 => Stage::Asleep,
            _ => Stage::Committing,
        };
        state.queue.drain(..count).collect()
    }

    /// Ends the commit of the taken items. Puts `undecided` back in front of the others. Returns true if the caller must wake the actor.
    pub fn end_commit(&self, undecided: Vec<T>) -> bool {
        let mut state = self.state.lock();
        for item in undecided.into_iter().rev() {
            state.queue.push_front(item);
        }
        let wake = !state.queue.is_empty();
        state.stage = if wake { Stage::Awake } else { Stage::Asleep };
        wake
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_item_of_a_sleeping_actor_wakes() {
        let inbox = Inbox::new(3);
        let put = |item| inbox.put(item, true);
        assert_eq!([put(1), put(2)], [PutOutcome::Wake, PutOutcome::Queued]);
        assert_eq!(inbox.take(9), [1, 2]);
        assert_eq!(
            put(3),
            PutOutcome::Queued,
            "the end of the commit wakes the actor"
        );
        assert!(inbox.end_commit(Vec::new()));
        assert_eq!(inbox.take(9), [3]);
        assert!(!inbox.end_commit(Vec::new()));
        assert_eq!(put(4), PutOutcome::Wake, "the actor is asleep");
    }

    #[test]
    fn nothing_is_taken_while_a_commit_is_in_flight() {
        let inbox = Inbox::new(9);
        (1..=4).for_each(|item| assert_ne!(inbox.put(item, true), PutOutcome::Refused));
        assert_eq!(inbox.take(3), [1, 2, 3]);
        assert!(inbox.take(3).is_empty());
        assert!(inbox.end_commit(vec![2, 3]), "undecided items wait");
        assert_eq!(
            inbox.put(5, true),
            PutOutcome::Queued,
            "the actor is awake already"
        );
        assert_eq!(inbox.take(9), [2, 3, 4, 5], "in the order of arrival");
    }

    #[test]
    fn a_full_inbox_takes_only_items_that_cannot_be_refused() {
        let inbox = Inbox::new(1);
        let puts = [(1, true), (2, true), (3, false)].map(|(item, is)| inbox.put(item, is));
        assert_eq!(
            puts,
            [PutOutcome::Wake, PutOutcome::Refused, PutOutcome::Queued]
        );
        assert_eq!(inbox.take(9), [1, 3]);
    }

    #[test]
    fn a_closed_inbox_drops_its_items_and_refuses_further_ones() {
        let inbox = Inbox::new(9);
        let item = std::sync::Arc::new(());
        inbox.put(std::sync::Arc::clone(&item), true);
        inbox.close();
        assert_eq!(std::sync::Arc::strong_count(&item), 1);
        assert_eq!(inbox.put(item, false), PutOutcome::Refused);
    }

    #[test]
    fn no_item_is_lost_between_many_senders_a_sleeping_actor_and_its_commits() {
        let (inbox, (wake, woken)) = (Inbox::new(usize::MAX), std::sync::mpsc::channel());
        let (commit, commits) = std::sync::mpsc::channel();
        let total = 4 * 5_000;
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let (inbox, wake) = (&inbox, wake.clone());
                scope.spawn(move || {
                    for number in 0..5_000 {
                        if inbox.put(number, true) == PutOutcome::Wake {
                            wake.send(()).unwrap();
                        }
                    }
                });
            }
            let (ended, committer) = (wake.clone(), &inbox);
            scope.spawn(move || {
                for () in commits {
                    if committer.end_commit(Vec::new()) {
                        ended.send(()).unwrap();
                    }
                }
            });
            let mut taken = 0;
            while taken < total {
                woken
                    .recv_timeout(std::time::Duration::from_secs(60))
                    .expect("a wake-up was lost");
                let found = inbox.take(256).len();
                if found > 0 {
                    taken += found;
                    commit.send(()).unwrap();
                }
            }
            drop(commit);
        });
    }
}
