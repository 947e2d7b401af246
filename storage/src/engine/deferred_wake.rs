//! Wakes the tasks that wait for a group's commits once per group, after all commits have been answered.
//!
//! Waking a task on a sleeping thread costs a system call; further wake-ups of that thread are free until it runs. So the
//! engine's thread answers first and wakes afterwards.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

thread_local! {
    static HELD: RefCell<Option<Vec<Waker>>> = const { RefCell::new(None) };
}

/// Runs `work`, then wakes the [`DeferredWake`]s that it completed, even if it panics.
pub fn wake_after<R>(work: impl FnOnce() -> R) -> R {
    struct WakeAll;
    impl Drop for WakeAll {
        fn drop(&mut self) {
            let held = HELD.take();
            held.into_iter().flatten().for_each(Waker::wake);
        }
    }
    let _wake_all = HELD.with_borrow_mut(|held| {
        let is_outermost = held.is_none();
        held.get_or_insert_default();
        is_outermost.then(|| WakeAll)
    });
    work()
}

/// A future whose wake-ups wait until the end of [`wake_after`] on the thread that causes them.
pub struct DeferredWake<F> {
    inner: F,
    deferred: Option<Arc<DeferredWaker>>,
}

impl<F> DeferredWake<F> {
    pub fn new(inner: F) -> Self {
        Self {
            inner,
            deferred: None,
        }
    }
}

impl<F: Future + Unpin> Future for DeferredWake<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.get_mut();
        let last = this.deferred.take();
        let deferred = last
            .filter(|it| it.0.will_wake(context.waker()))
            .unwrap_or_else(|| Arc::new(DeferredWaker(context.waker().clone())));
        let waker = Waker::from(Arc::clone(&deferred));
        this.deferred = Some(deferred);
        Pin::new(&mut this.inner).poll(&mut Context::from_waker(&waker))
    }
}

struct DeferredWaker(Waker);

impl Wake for DeferredWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let is_held = HELD.with_borrow_mut(|held| {
            let held = held.as_mut();
            held.map(|held| held.push(self.0.clone())).is_some()
        });
        if !is_held {
            self.0.wake_by_ref();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// A future that resolves when a number is sent.
    #[derive(Default)]
    struct NumberState {
        number: Option<u8>,
        waker: Option<Waker>,
    }

    #[derive(Clone, Default)]
    struct Number(Arc<Mutex<NumberState>>);

    impl Number {
        fn say(&self, number: u8) {
            let mut said = self.0.lock();
            said.number = Some(number);
            if let Some(waker) = said.waker.take() {
                waker.wake();
            }
        }
    }

    impl Future for Number {
        type Output = u8;

        fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<u8> {
            let mut said = self.0.lock();
            said.waker = Some(context.waker().clone());
            said.number.map_or(Poll::Pending, Poll::Ready)
        }
    }

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    struct Waiter {
        woken: Arc<Count>,
        answer: DeferredWake<Number>,
    }

    impl Waiter {
        fn new() -> (Number, Self) {
            let number = Number::default();
            let mut waiter = Self {
                woken: Arc::default(),
                answer: DeferredWake::new(number.clone()),
            };
            assert!(waiter.poll().is_pending());
            (number, waiter)
        }

        fn poll(&mut self) -> Poll<u8> {
            let waker = Waker::from(Arc::clone(&self.woken));
            Pin::new(&mut self.answer).poll(&mut Context::from_waker(&waker))
        }

        fn woken(&self) -> usize {
            self.woken.0.load(Ordering::Relaxed)
        }
    }

    #[test]
    fn waiters_are_woken_after_all_answers() {
        let ((first, mut one), (second, mut two)) = (Waiter::new(), Waiter::new());
        wake_after(|| {
            wake_after(|| first.say(1));
            second.say(2);
            assert_eq!((one.woken(), two.woken()), (0, 0));
        });
        assert_eq!((one.woken(), two.woken()), (1, 1));
        assert_eq!((one.poll(), two.poll()), (Poll::Ready(1), Poll::Ready(2)));
    }

    #[test]
    fn waiters_outside_of_a_group_are_woken_at_once() {
        let (number, mut waiter) = Waiter::new();
        number.say(1);
        assert_eq!(waiter.woken(), 1);
        assert_eq!(waiter.poll(), Poll::Ready(1));
    }

    #[test]
    fn a_panic_wakes_all_waiters() {
        let (number, waiter) = Waiter::new();
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            wake_after(|| {
                number.say(1);
                panic!("on purpose");
            })
        }));
        assert!(panicked.is_err());
        assert_eq!(waiter.woken(), 1);
        let (number, other) = Waiter::new();
        number.say(1);
        assert_eq!(other.woken(), 1, "nothing is held back any more");
    }

    #[test]
    fn a_waiter_that_has_moved_to_another_task_is_woken_there() {
        let (number, mut waiter) = Waiter::new();
        let before = std::mem::take(&mut waiter.woken);
        assert!(waiter.poll().is_pending());
        wake_after(|| number.say(1));
        assert_eq!((before.0.load(Ordering::Relaxed), waiter.woken()), (0, 1));
    }
}
