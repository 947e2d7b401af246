//! Rounds whose decision is a closure.

use crate::domain::ids::NodeId;
use crate::engine::{Engine, EngineError, Key, ReadRequest, ReadResults, Round, RoundStep, Value};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

pub type Outcome = Result<(), EngineError>;

/// A round that sends its outcome to the test.
pub struct ClosureRound<D> {
    locked_keys: Vec<Key>,
    initial_reads: Vec<ReadRequest>,
    fences: Option<NodeId>,
    decide: D,
    done: Option<Sender<Outcome>>,
}

/// A round that locks and reads these keys.
pub fn round_of<D>(keys: &[&str], decide: D) -> ClosureRound<D>
where
    D: FnMut(&ReadResults) -> RoundStep + Send + 'static,
{
    let locked_keys: Vec<Key> = keys.iter().map(|key| key.as_bytes().to_vec()).collect();
    ClosureRound {
        initial_reads: locked_keys.iter().cloned().map(ReadRequest::Get).collect(),
        locked_keys,
        fences: None,
        decide,
        done: None,
    }
}

impl<D: FnMut(&ReadResults) -> RoundStep + Send + 'static> ClosureRound<D> {
    /// Replaces the reads before the first decision.
    pub fn reading(self, initial_reads: Vec<ReadRequest>) -> Self {
        Self {
            initial_reads,
            ..self
        }
    }

    pub fn fencing(self, fences: Option<NodeId>) -> Self {
        Self { fences, ..self }
    }

    /// Starts the round. Its outcome arrives once.
    pub fn start<E: Engine + ?Sized>(mut self, engine: &Arc<E>) -> Receiver<Outcome> {
        let (done, outcome) = channel();
        self.done = Some(done);
        Arc::clone(engine).round(Box::new(self));
        outcome
    }

    /// Runs the round.
    pub fn run<E: Engine + ?Sized>(self, engine: &Arc<E>) -> Outcome {
        self.start(engine).recv().expect("an outcome")
    }
}

impl<D: FnMut(&ReadResults) -> RoundStep + Send> Round for ClosureRound<D> {
    fn locked_keys(&self) -> Vec<Key> {
        self.locked_keys.clone()
    }

    fn initial_reads(&self) -> Vec<ReadRequest> {
        self.initial_reads.clone()
    }

    fn decide(&mut self, reads: &ReadResults) -> RoundStep {
        (self.decide)(reads)
    }

    fn fences(&self) -> Option<NodeId> {
        self.fences
    }

    fn done(self: Box<Self>, outcome: Outcome) {
        if let Some(done) = self.done {
            done.send(outcome).expect("the test listens");
        }
    }
}

/// The number under a key that was read; 0 if the key is absent.
pub fn number(reads: &ReadResults, key: &str) -> u32 {
    let value = reads.value(key.as_bytes()).expect("it was asked for");
    value.map_or(0, |value| {
        let text = std::str::from_utf8(value).expect("text");
        text.parse().expect("a number")
    })
}

/// A write of a number.
pub fn put(key: &str, number: u32) -> (Key, Option<Value>) {
    let value = number.to_string().into_bytes();
    (key.as_bytes().to_vec(), Some(value))
}

/// A decision that increments the numbers under these keys.
pub fn increment(
    keys: &'static [&'static str],
) -> impl FnMut(&ReadResults) -> RoundStep + Send + 'static {
    move |reads| {
        let writes = keys.iter().map(|key| put(key, number(reads, key) + 1));
        RoundStep::Write(writes.collect())
    }
}
