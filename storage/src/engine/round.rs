//! A round: lock keys, read, decide, commit. Every decision that depends on reads is a round.

use super::{Direction, Engine, EngineError, Key, KeyRange, Pairs, Value, Writes};
use crate::domain::ids::NodeId;
use crate::fast_hash::HashMap;

/// A decision with its reads and its continuation.
pub trait Round: Send {
    /// The keys that the round locks: from its reads to the end of its commit, no other round with one of these keys commits.
    /// The keys need not exist.
    fn locked_keys(&self) -> Vec<Key>;

    /// The reads that are known in advance. They run before the first call of [`Round::decide`].
    fn initial_reads(&self) -> Vec<ReadRequest>;

    /// Decides from the reads alone. The engine calls it again with more reads after [`RoundStep::Read`], and from the start with
    /// new reads if another process won the commit. Only the last call counts: the method may change only the round itself,
    /// must be quick and must not call the engine.
    fn decide(&mut self, reads: &ReadResults) -> RoundStep;

    /// The process that this round fences: after this round's commit, no commit of that process succeeds, including commits in
    /// flight. Called after the decision. Only shared engines support fencing.
    fn fences(&self) -> Option<NodeId> {
        None
    }

    /// Called exactly once. `Ok` means that the writes survive a power cut; without writes, that the decision is valid. It must
    /// be quick and must not call the engine.
    fn done(self: Box<Self>, outcome: Result<(), EngineError>);
}

/// The outcome of a decision.
pub enum RoundStep {
    /// The writes of one commit.
    Write(Writes),
    /// The decision needs these reads too.
    Read(Vec<ReadRequest>),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ReadRequest {
    Get(Key),
    /// Up to so many pairs of a range, in order.
    Scan(KeyRange, Direction, usize),
}

/// The results of a decision's reads.
#[derive(Debug, Default)]
pub struct ReadResults {
    values: HashMap<Key, Option<Value>>,
    scans: HashMap<ReadRequest, Pairs>,
}

impl ReadResults {
    /// `None` if the key was not read.
    pub fn value(&self, key: &[u8]) -> Option<Option<&Value>> {
        self.values.get(key).map(Option::as_ref)
    }

    /// `None` if the scan was not run.
    pub fn pairs(&self, scan: &ReadRequest) -> Option<&[(Key, Value)]> {
        self.scans.get(scan).map(Vec::as_slice)
    }

    /// Adds the result of an [`ReadRequest::Get`].
    pub fn add_value(&mut self, key: Key, value: Option<Value>) {
        self.values.insert(key, value);
    }

    /// Adds the result of an [`ReadRequest::Scan`].
    pub fn add_pairs(&mut self, scan: ReadRequest, pairs: Pairs) {
        self.scans.insert(scan, pairs);
    }

    /// Runs the reads. Blocks the thread: for engines whose reads are ready at once.
    ///
    /// # Errors
    /// A read failed.
    pub fn read(
        &mut self,
        engine: &dyn Engine,
        requests: Vec<ReadRequest>,
    ) -> Result<(), EngineError> {
        for request in requests {
            match request {
                ReadRequest::Scan(..) if self.scans.contains_key(&request) => {}
                ReadRequest::Get(key) => {
                    let value = engine.get(&key).wait()?;
                    self.add_value(key, value);
                }
                ReadRequest::Scan(ref range, direction, limit) => {
                    let pairs = engine.scan(range, direction, limit).wait()?;
                    self.add_pairs(request, pairs);
                }
            }
        }
        Ok(())
    }
}
