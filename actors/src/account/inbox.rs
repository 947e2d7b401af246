//! The inbox of an account actor, in which new jobs wait without a message each.
//!
//! A message to a sleeping actor costs a system call and a switch of threads. An actor whose commit is in flight has nothing to
//! decide, so the calls that arrive meanwhile wait here, and the actor takes them all when the commit has ended. When none has
//! arrived by then, the actor stays asleep.

use parking_lot::Mutex;
use std::collections::VecDeque;

/// Any thread puts items in; one actor takes them.
pub struct Inbox<T> {
    state: Mutex<State<T>>,
    capacity: usize,
}

struct State<T> {
    queue: VecDeque<T>,
    stage: Stage,
    closed: bool,
}

/// What the actor is doing.
enum Stage {
    /// A sender must wake it.
    Asleep,
    /// It has been woken, or is about to look.
    Awake,
    /// Its commit is in flight.
    Committing {
        /// It has more to decide after the commit.
        has_more: bool,
    },
}

/// What a sender has to do after a put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// Nothing: the actor will look.
    Noticed,
    /// Wake the actor.
    Wake,
    /// Refuse the caller: the inbox is full or closed, and dropped the item.
    Full,
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

    pub fn put(&self, item: T) -> Put {
        let mut state = self.state.lock();
        if state.closed || state.queue.len() >= self.capacity {
            return Put::Full;
        }
        state.queue.push_back(item);
        match state.stage {
            Stage::Asleep => {
                state.stage = Stage::Awake;
                Put::Wake
            }
            Stage::Awake | Stage::Committing { .. } => Put::Noticed,
        }
    }

    /// Drops all items and refuses every further one.
    pub fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        state.queue.clear();
    }

    /// Takes all items. When there is none, the next sender has to wake the actor.
    pub fn take(&self) -> VecDeque<T> {
        let mut state = self.state.lock();
        state.stage = match state.queue.is_empty() {
            true => Stage::Asleep,
            false => Stage::Awake,
        };
        std::mem::take(&mut state.queue)
    }

    /// The actor's commit is in flight from now on.
    pub fn commit_begins(&self) {
        self.state.lock().stage = Stage::Committing { has_more: false };
    }

    /// Is a commit of the actor in flight? If so, and the actor has `more` to decide, the end of the commit wakes it.
    pub fn is_committing(&self, more: bool) -> bool {
        match &mut self.state.lock().stage {
            Stage::Committing { has_more } => {
                *has_more |= more;
                true
            }
            Stage::Asleep | Stage::Awake => false,
        }
    }

    /// The commit has ended. True when the actor must be woken.
    pub fn commit_ended(&self) -> bool {
        let mut state = self.state.lock();
        let has_more = matches!(state.stage, Stage::Committing { has_more: true });
        let wake = has_more || !state.queue.is_empty();
        state.stage = if wake { Stage::Awake } else { Stage::Asleep };
        wake
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_after_an_empty_look_wakes() {
        let inbox = Inbox::new(3);
        assert_eq!([inbox.put(1), inbox.put(2)], [Put::Wake, Put::Noticed]);
        assert_eq!(inbox.take(), [1, 2]);
        assert_eq!(
            inbox.put(3),
            Put::Noticed,
            "a taker that found something looks again"
        );
        assert_eq!(inbox.take(), [3]);
        assert!(inbox.take().is_empty());
        assert_eq!(inbox.put(4), Put::Wake);
    }

    #[test]
    fn a_commit_that_ends_wakes_the_actor_only_when_there_is_something_to_decide() {
        let inbox = Inbox::new(3);
        let commit = || {
            inbox.take();
            inbox.commit_begins();
            assert!(inbox.is_committing(false));
        };
        commit();
        assert!(!inbox.commit_ended() && !inbox.is_committing(true));
        assert_eq!(inbox.put(1), Put::Wake, "it was left asleep");
        commit();
        assert_eq!(inbox.put(2), Put::Noticed);
        assert!(inbox.commit_ended(), "something was laid in meanwhile");
        assert_eq!(inbox.put(3), Put::Noticed, "it has been woken already");
        commit();
        assert!(inbox.is_committing(true));
        assert!(inbox.commit_ended(), "it has something else to decide");
    }

    #[test]
    fn a_full_one_takes_no_more() {
        let inbox = Inbox::new(1);
        assert_eq!([inbox.put(1), inbox.put(2)], [Put::Wake, Put::Full]);
        assert_eq!(inbox.take(), [1]);
    }

    #[test]
    fn a_closed_one_forgets_what_it_has_and_takes_no_more() {
        let inbox = Inbox::new(9);
        let item = std::sync::Arc::new(());
        inbox.put(std::sync::Arc::clone(&item));
        inbox.close();
        assert_eq!(std::sync::Arc::strong_count(&item), 1);
        assert_eq!(inbox.put(item), Put::Full);
    }

    #[test]
    fn nothing_is_forgotten_between_many_senders_a_sleeping_taker_and_its_commits() {
        let (inbox, (wake, woken)) = (Inbox::new(usize::MAX), std::sync::mpsc::channel());
        let (commit, commits) = std::sync::mpsc::channel();
        let total = 4 * 5_000;
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let (inbox, wake) = (&inbox, wake.clone());
                scope.spawn(move || {
                    for number in 0..5_000 {
                        if inbox.put(number) == Put::Wake {
                            wake.send(()).unwrap();
                        }
                    }
                });
            }
            let (ended, committer) = (wake.clone(), &inbox);
            scope.spawn(move || {
                for () in commits {
                    if committer.commit_ended() {
                        ended.send(()).unwrap();
                    }
                }
            });
            let mut taken = 0;
            while taken < total {
                woken
                    .recv_timeout(std::time::Duration::from_secs(60))
                    .expect("a wake-up was lost");
                if inbox.is_committing(false) {
                    continue;
                }
                let found = inbox.take().len();
                if found > 0 {
                    taken += found;
                    inbox.commit_begins();
                    commit.send(()).unwrap();
                }
            }
            drop(commit);
        });
    }
}
