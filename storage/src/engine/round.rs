//! A round: hold keys, read, decide, commit. Every decision that builds on what it reads is one.

use super::{Direction, Engine, EngineError, Key, KeyRange, Value};
use crate::domain::ids::NodeId;
use std::collections::HashMap;

/// A decision, with what it reads and what follows from it.
pub trait Round: Send {
    /// The keys that the round holds: between its reads and the end of its commit, no other round commits that holds one of
    /// them. A key need not be there to be held.
    fn holds(&self) -> Vec<Key>;

    /// What the decision is known to build on. It is read before the first call of [`Round::decide`].
    fn needs(&self) -> Vec<Ask>;

    /// Decides, from what was read alone. The engine calls it again with more answers after [`Verdict::Ask`], and from the
    /// start, with new answers, where the commit was lost to another process. Only the last call counts, so it must change
    /// nothing that outlives the call but the round itself, must be quick and must not call the engine.
    fn decide(&mut self, seen: &Seen) -> Verdict;

    /// The process whose commits end with this round: once this round is committed, none of that process's commits succeeds, also
    /// none that was under way. Asked for once the decision is made. Only engines that several processes share have such
    /// processes.
    fn fences(&self) -> Option<NodeId> {
        None
    }

    /// Called exactly once. `Ok` means that the writes survive a power cut; where there were none, that the decision stands.
    /// It must be quick and must not call the engine.
    fn done(self: Box<Self>, outcome: Result<(), EngineError>);
}

/// What a decision comes to.
pub enum Verdict {
    /// The writes of one commit. A key stands at most once.
    Write(Vec<(Key, Option<Value>)>),
    /// The decision needs these answers too.
    Ask(Vec<Ask>),
}

/// One read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Ask {
    /// The value of a key.
    Get(Key),
    /// Up to so many pairs of a range, in order.
    Scan(KeyRange, Direction, usize),
}

/// The answers that a decision is given.
#[derive(Debug, Default)]
pub struct Seen {
    values: HashMap<Key, Option<Value>>,
    scans: HashMap<Ask, Vec<(Key, Value)>>,
}

impl Seen {
    /// The value of a key; `None` where the key was not asked for.
    pub fn value(&self, key: &[u8]) -> Option<Option<&Value>> {
        self.values.get(key).map(Option::as_ref)
    }

    /// The pairs of a scan; `None` where it was not asked for.
    pub fn pairs(&self, scan: &Ask) -> Option<&[(Key, Value)]> {
        self.scans.get(scan).map(Vec::as_slice)
    }

    /// Adds the answer to [`Ask::Get`].
    pub fn add_value(&mut self, key: Key, value: Option<Value>) {
        self.values.insert(key, value);
    }

    /// Adds the answer to an [`Ask::Scan`].
    pub fn add_pairs(&mut self, scan: Ask, pairs: Vec<(Key, Value)>) {
        self.scans.insert(scan, pairs);
    }

    /// Reads what was asked for. For engines whose reads are ready at once: it blocks the thread.
    ///
    /// # Errors
    /// A read failed.
    pub fn read(&mut self, engine: &dyn Engine, asks: Vec<Ask>) -> Result<(), EngineError> {
        for ask in asks {
            match ask {
                Ask::Scan(..) if self.scans.contains_key(&ask) => {}
                Ask::Get(key) => {
                    let value = engine.get(&key).wait()?;
                    self.add_value(key, value);
                }
                Ask::Scan(ref range, direction, limit) => {
                    let pairs = engine.scan(range, direction, limit).wait()?;
                    self.add_pairs(ask, pairs);
                }
            }
        }
        Ok(())
    }
}
