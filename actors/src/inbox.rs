//! Where new jobs wait for their account's actor without waking it for each one.
//!
//! A message to an actor costs a system call and a switch of threads when the actor sleeps. While its commit is on the way to
//! the disk it has nothing to decide, so the many calls that arrive meanwhile are laid here, and it finds them all when the
//! commit has ended. When none has arrived by then it is left asleep.

use parking_lot::Mutex;
use std::collections::VecDeque;

/// Filled by any thread, emptied by one actor.
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
    /// Nothing; it has to be woken.
    Asleep,
    /// It has been woken, or knows by itself that it has to look.
    Awake,
    /// It waits for its commit.
    Committing {
        /// It has more to decide once that has ended.
        come_back: bool,
    },
}

/// What a sender has to do after laying something into an inbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Laid {
    /// Nothing: the actor will look.
    Noticed,
    /// Wake the actor.
    Wake,
    /// It is full or closed, and nothing was laid in.
    Full,
}

impl<T> Inbox<T> {
    /// An empty one for so many.
    pub fn new(capacity: usize) -> Self {
        let state = Mutex::new(State {
            queue: VecDeque::new(),
            stage: Stage::Asleep,
            closed: false,
        });
        Self { state, capacity }
    }

    /// Lays something in.
    pub fn lay(&self, item: T) -> Laid {
        let mut state = self.state.lock();
        if state.closed || state.queue.len() >= self.capacity {
            return Laid::Full;
        }
        state.queue.push_back(item);
        match state.stage {
            Stage::Asleep => {
                state.stage = Stage::Awake;
                Laid::Wake
            }
            Stage::Awake | Stage::Committing { .. } => Laid::Noticed,
        }
    }

    /// Drops what was laid in and takes no more.
    pub fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        state.queue.clear();
    }

    /// All that was laid in. When there is nothing, the next sender is asked to wake the actor.
    pub fn take(&self) -> VecDeque<T> {
        let mut state = self.state.lock();
        state.stage = match state.queue.is_empty() {
            true => Stage::Asleep,
            false => Stage::Awake,
        };
        std::mem::take(&mut state.queue)
    }

    /// The actor's commit is on its way from now on.
    pub fn commit_begins(&self) {
        self.state.lock().stage = Stage::Committing { come_back: false };
    }

    /// Is a commit of the actor on its way? If so, and it has `more` to decide, it is woken at the end of that.
    pub fn is_committing(&self, more: bool) -> bool {
        match &mut self.state.lock().stage {
            Stage::Committing { come_back } => {
                *come_back |= more;
                true
            }
            Stage::Asleep | Stage::Awake => false,
        }
    }

    /// The commit has ended. Has the actor to be woken?
    pub fn commit_ended(&self) -> bool {
        let mut state = self.state.lock();
        let come_back = matches!(state.stage, Stage::Committing { come_back: true });
        let wake = come_back || !state.queue.is_empty();
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
        assert_eq!([inbox.lay(1), inbox.lay(2)], [Laid::Wake, Laid::Noticed]);
        assert_eq!(inbox.take(), [1, 2]);
        assert_eq!(
            inbox.lay(3),
            Laid::Noticed,
            "whoever took something looks again"
        );
        assert_eq!(inbox.take(), [3]);
        assert!(inbox.take().is_empty());
        assert_eq!(inbox.lay(4), Laid::Wake);
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
        assert_eq!(inbox.lay(1), Laid::Wake, "it was left asleep");
        commit();
        assert_eq!(inbox.lay(2), Laid::Noticed);
        assert!(inbox.commit_ended(), "something was laid in meanwhile");
        assert_eq!(inbox.lay(3), Laid::Noticed, "it has been woken already");
        commit();
        assert!(inbox.is_committing(true));
        assert!(inbox.commit_ended(), "it has something else to decide");
    }

    #[test]
    fn a_full_one_takes_no_more() {
        let inbox = Inbox::new(1);
        assert_eq!([inbox.lay(1), inbox.lay(2)], [Laid::Wake, Laid::Full]);
        assert_eq!(inbox.take(), [1]);
    }

    #[test]
    fn a_closed_one_forgets_what_it_has_and_takes_no_more() {
        let inbox = Inbox::new(9);
        let item = std::sync::Arc::new(());
        inbox.lay(std::sync::Arc::clone(&item));
        inbox.close();
        assert_eq!(std::sync::Arc::strong_count(&item), 1);
        assert_eq!(inbox.lay(item), Laid::Full);
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
                        if inbox.lay(number) == Laid::Wake {
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
