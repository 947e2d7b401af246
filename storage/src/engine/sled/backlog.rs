//! The bytes of the memtable that sled lacks: when they are flushed, and who waits for room.

use parking_lot::{Condvar, Mutex, MutexGuard};
use std::future::poll_fn;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

/// The committer waits above this limit.
const MAX_WAITING_BYTES: usize = 64 << 20;
/// Bulk work waits above this limit, so that other commits do not have to.
const BULK_WAITING_BYTES: usize = MAX_WAITING_BYTES / 2;

/// When the memtable is flushed to sled.
#[derive(Clone, Copy, Debug)]
pub struct FlushPolicy {
    /// Flush when so many bytes wait,
    pub bytes: usize,
    /// or when the first of them has waited this long.
    pub after: Duration,
}

impl Default for FlushPolicy {
    /// 16 MiB, 5 s: most jobs end within that time, so sled never gets their earlier states. A start replays that much of the
    /// journal, in well below a second.
    fn default() -> Self {
        Self {
            bytes: 16 << 20,
            after: Duration::from_secs(5),
        }
    }
}

/// The bytes that wait for a flush, shared by the committer and the flusher.
pub struct Backlog {
    policy: FlushPolicy,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Bytes of the next flush, and when the first of them arrived.
    waiting: usize,
    since: Option<Instant>,
    /// Bytes of the current flush that sled lacks.
    applying: usize,
    /// The committer has ended.
    closing: bool,
    /// The flusher has ended.
    ended: bool,
    /// Bulk work that waits for room.
    bulk: Vec<Waker>,
}

impl State {
    fn has_room_for_bulk(&self) -> bool {
        self.waiting + self.applying <= BULK_WAITING_BYTES || self.ended
    }
}

impl Backlog {
    pub fn new(policy: FlushPolicy) -> Self {
        Self {
            policy,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Adds bytes that have become visible in the memtable.
    pub fn add(&self, bytes: usize) {
        let mut state = self.state.lock();
        let was_full = state.waiting >= self.policy.bytes;
        state.waiting += bytes;
        let is_first = state.since.is_none();
        if is_first {
            state.since = Some(Instant::now());
        }
        if is_first || (state.waiting >= self.policy.bytes && !was_full) {
            self.changed.notify_all();
        }
    }

    /// Bytes that sled lacks.
    pub fn bytes(&self) -> usize {
        let state = self.state.lock();
        state.waiting + state.applying
    }

    /// Waits while the backlog is too large.
    pub fn wait_for_room(&self) {
        let mut state = self.state.lock();
        while state.waiting + state.applying > MAX_WAITING_BYTES && !state.ended {
            self.changed.wait(&mut state);
        }
    }

    /// Waits until bulk work leaves room for other commits. Returns if the flusher has ended.
    pub async fn room_for_bulk(&self) {
        poll_fn(|context| {
            let mut state = self.state.lock();
            if state.has_room_for_bulk() {
                return Poll::Ready(());
            }
            if !state.bulk.iter().any(|it| it.will_wake(context.waker())) {
                state.bulk.push(context.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }

    /// Starts the last flush.
    pub fn close(&self) {
        self.state.lock().closing = true;
        self.changed.notify_all();
    }

    /// Waits until a flush is due; `false` after the last one.
    pub fn wait_for_flush(&self) -> bool {
        let mut state = self.state.lock();
        loop {
            match state.since {
                None if state.closing => return false,
                None => self.changed.wait(&mut state),
                Some(since) => {
                    let due = since + self.policy.after;
                    let is_due = state.closing || state.waiting >= self.policy.bytes;
                    if is_due || Instant::now() >= due {
                        state.applying = std::mem::take(&mut state.waiting);
                        state.since = None;
                        return true;
                    }
                    self.changed.wait_until(&mut state, due);
                }
            }
        }
    }

    /// Records that sled holds `bytes` more of the flush. The committer gets room step by step, not flush by flush.
    pub fn step_ended(&self, bytes: usize) {
        let mut state = self.state.lock();
        state.applying = state.applying.saturating_sub(bytes);
        self.notify(state);
    }

    pub fn flush_ended(&self) {
        let mut state = self.state.lock();
        state.applying = 0;
        self.notify(state);
    }

    /// Records that the flusher has ended: the committer no longer waits for room.
    pub fn end(&self) {
        let mut state = self.state.lock();
        state.ended = true;
        self.notify(state);
    }

    /// Wakes everything that waits for room.
    fn notify(&self, mut state: MutexGuard<'_, State>) {
        let bulk = match state.has_room_for_bulk() {
            true => std::mem::take(&mut state.bulk),
            false => Vec::new(),
        };
        drop(state);
        self.changed.notify_all();
        bulk.into_iter().for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::task::{Context, Wake};

    /// On a slow disk a flush of tens of megabytes takes many seconds. Each part that sled holds makes room for commits.
    #[test]
    fn waiters_for_room_continue_once_sled_has_a_part_of_the_flush() {
        let backlog = Backlog::new(FlushPolicy::default());
        backlog.add(MAX_WAITING_BYTES);
        assert!(backlog.wait_for_flush());
        backlog.add(1);
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| backlog.wait_for_room());
            backlog.step_ended(1);
            waits.join().expect("there is room");
        });
        assert_eq!(backlog.bytes(), MAX_WAITING_BYTES);
        backlog.flush_ended();
        assert_eq!(backlog.bytes(), 1);
    }

    #[test]
    fn bulk_work_waits_for_half_of_the_room_and_not_for_a_flusher_that_has_ended() {
        let backlog = Backlog::new(FlushPolicy::default());
        let waker = Arc::new(Count::default());
        let std_waker = Waker::from(Arc::clone(&waker));
        let mut context = Context::from_waker(&std_waker);
        backlog.add(BULK_WAITING_BYTES);
        let mut first = pin!(backlog.room_for_bulk());
        assert!(first.as_mut().poll(&mut context).is_ready());
        backlog.add(2);
        let mut second = pin!(backlog.room_for_bulk());
        assert!(second.as_mut().poll(&mut context).is_pending());
        assert!(second.as_mut().poll(&mut context).is_pending());
        assert!(backlog.wait_for_flush());
        backlog.step_ended(1);
        assert_eq!(waker.0.load(Ordering::SeqCst), 0, "one byte too many");
        backlog.step_ended(1);
        assert_eq!(waker.0.load(Ordering::SeqCst), 1);
        assert!(second.as_mut().poll(&mut context).is_ready());
        backlog.add(1);
        let mut third = pin!(backlog.room_for_bulk());
        assert!(third.as_mut().poll(&mut context).is_pending());
        backlog.end();
        assert_eq!(waker.0.load(Ordering::SeqCst), 2);
        assert!(third.as_mut().poll(&mut context).is_ready());
    }

    /// Counts wake-ups.
    #[derive(Default)]
    struct Count(AtomicU32);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
}
