//! Where new jobs wait for their account's actor without waking it for each one.
//!
//! A message to an actor costs a system call and a switch of threads when the actor sleeps. While its commit is on the way to
//! the disk it has nothing to decide, so the many calls that arrive meanwhile are laid here, and it finds them all when the
//! commit has ended.

use parking_lot::Mutex;
use std::collections::VecDeque;

/// Filled by any thread, emptied by one actor.
pub struct Inbox<T> {
    state: Mutex<State<T>>,
    capacity: usize,
}

struct State<T> {
    queue: VecDeque<T>,
    /// The actor has been told, or knows by itself, that it has to look.
    awake: bool,
    closed: bool,
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
            awake: false,
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
        if std::mem::replace(&mut state.awake, true) {
            Laid::Noticed
        } else {
            Laid::Wake
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
        state.awake = !state.queue.is_empty();
        std::mem::take(&mut state.queue)
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
    fn nothing_is_forgotten_between_many_senders_and_a_sleeping_taker() {
        let (inbox, (wake, woken)) = (Inbox::new(usize::MAX), std::sync::mpsc::channel());
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
            let mut taken = 0;
            while taken < total {
                woken
                    .recv_timeout(std::time::Duration::from_secs(60))
                    .expect("a wake-up was lost");
                loop {
                    let found = inbox.take().len();
                    taken += found;
                    if found == 0 {
                        break;
                    }
                }
            }
        });
    }
}
