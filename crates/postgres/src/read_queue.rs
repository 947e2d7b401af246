//! The queue of reads.

use parking_lot::Mutex;
use std::collections::VecDeque;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::{
    Direction, EngineError, Key, KeyRange, Pairs, TransactionNumbers, Value,
};
use tokio::sync::{Notify, oneshot};

/// Maximum number of reads per round trip.
const MAX_READS: usize = 256;

pub type Reply<T> = oneshot::Sender<Result<T, EngineError>>;

/// A read and its caller.
pub enum QueuedRead {
    Get(Key, Reply<Option<Value>>),
    GetMany(Vec<Key>, Reply<Vec<Option<Value>>>),
    Scan(KeyRange, Direction, usize, Reply<Pairs>),
    Count(KeyRange, Reply<usize>),
    /// The database's clock.
    Time(Reply<Option<Timestamp>>),
    Transactions(Reply<Option<TransactionNumbers>>),
}

impl QueuedRead {
    pub fn refuse(self, error: EngineError) {
        // A caller that has gone needs no response.
        match self {
            Self::Get(_, reply) => drop(reply.send(Err(error))),
            Self::GetMany(_, reply) => drop(reply.send(Err(error))),
            Self::Scan(_, _, _, reply) => drop(reply.send(Err(error))),
            Self::Count(_, reply) => drop(reply.send(Err(error))),
            Self::Time(reply) => drop(reply.send(Err(error))),
            Self::Transactions(reply) => drop(reply.send(Err(error))),
        }
    }

    /// Has the caller gone?
    fn caller_gone(&self) -> bool {
        match self {
            Self::Get(_, reply) => reply.is_closed(),
            Self::GetMany(_, reply) => reply.is_closed(),
            Self::Scan(_, _, _, reply) => reply.is_closed(),
            Self::Count(_, reply) => reply.is_closed(),
            Self::Time(reply) => reply.is_closed(),
            Self::Transactions(reply) => reply.is_closed(),
        }
    }
}

#[derive(Default)]
pub struct ReadQueue {
    state: Mutex<State>,
    added: Notify,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<QueuedRead>,
    refusal: Option<EngineError>,
}

impl ReadQueue {
    pub fn add(&self, request: QueuedRead) {
        let mut state = self.state.lock();
        if let Some(error) = &state.refusal {
            let error = error.clone();
            drop(state);
            return request.refuse(error);
        }
        state.waiting.push_back(request);
        drop(state);
        self.added.notify_one();
    }

    /// Refuses queued and future reads.
    pub fn refuse_all(&self, error: &EngineError) {
        let mut state = self.state.lock();
        state.refusal.get_or_insert_with(|| error.clone());
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        for request in waiting {
            request.refuse(error.clone());
        }
        self.added.notify_waiters();
    }

    /// Waits for reads; `None` after a refusal of all.
    pub async fn take(&self) -> Option<Vec<QueuedRead>> {
        loop {
            let mut added = std::pin::pin!(self.added.notified());
            added.as_mut().enable();
            {
                let mut state = self.state.lock();
                if state.refusal.is_some() {
                    return None;
                }
                let mut taken = Vec::new();
                while taken.len() < MAX_READS
                    && let Some(request) = state.waiting.pop_front()
                {
                    if !request.caller_gone() {
                        taken.push(request);
                    }
                }
                if !taken.is_empty() {
                    if !state.waiting.is_empty() {
                        self.added.notify_one();
                    }
                    return Some(taken);
                }
            }
            added.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::timeout;

    #[tokio::test(start_paused = true)]
    async fn a_read_behind_many_abandoned_ones_is_taken() {
        let queue = ReadQueue::default();
        for _ in 0..2 * MAX_READS {
            let (reply, _) = oneshot::channel();
            queue.add(QueuedRead::Time(reply));
        }
        let (reply, _answer) = oneshot::channel();
        queue.add(QueuedRead::Time(reply));
        let at_once = timeout(Duration::ZERO, queue.take()).await;
        let taken = at_once.ok().flatten().expect("one caller waits");
        assert_eq!(taken.len(), 1);
    }
}
