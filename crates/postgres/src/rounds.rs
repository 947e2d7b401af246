//! The rounds of a transaction: locks their keys, reads, and lets them decide.

use crate::fault::Fault;
use crate::outages::Outages;
use crate::reader::{BatchResults, ReadBatch, by_relation, pairs};
use crate::session::READ_WRITE;
use crate::statements::{PreparedSession, Statement};
use crate::write_queue::{Group, HeldRound};
use futures_util::future::try_join_all;
use std::collections::{HashMap, HashSet};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tintype_storage::engine::{
    EngineError, Key, Pairs, ReadRequest, ReadResults, RoundStep, Value, Writes, oversized,
};
use tokio_postgres::{Error, Row};

pub type Decision = Result<Writes, EngineError>;

/// A round that decides in this transaction.
struct OpenRound<'a> {
    held: &'a mut HeldRound,
    /// Not read yet.
    requests: Vec<ReadRequest>,
    reads: ReadResults,
    /// Another process has locked one of the keys.
    must_wait: bool,
    decision: Option<Decision>,
}

impl<'a> OpenRound<'a> {
    fn new(held: &'a mut HeldRound) -> Self {
        Self {
            requests: held.round.initial_reads(),
            held,
            reads: ReadResults::default(),
            must_wait: false,
            decision: None,
        }
    }

    fn is_undecided(&self) -> bool {
        !self.must_wait && self.decision.is_none()
    }

    /// Decides, or requests more reads.
    fn decide(&mut self) {
        let step = catch_unwind(AssertUnwindSafe(|| self.held.round.decide(&self.reads)));
        match step {
            Ok(RoundStep::Read(more)) => self.requests = more,
            Ok(RoundStep::Write(writes)) => {
                self.decision = Some(oversized(&writes).map_or(Ok(writes), Err));
            }
            Err(_) => self.decision = Some(Err(EngineError::Panicked)),
        }
    }
}

/// The keys that this transaction holds.
struct HeldKeys {
    locked: HashSet<Key>,
    /// Without a record: their rows exist only as locks.
    reserved: HashSet<Key>,
}

impl HeldKeys {
    fn contains(&self, key: &Key) -> bool {
        self.locked.contains(key) || self.reserved.contains(key)
    }
}

/// Locks, reads and decides. Moves rounds that must wait for another process to `again`. Returns the decisions, and the keys
/// whose rows exist only as locks.
pub async fn decide_all(
    session: &PreparedSession,
    outages: &Outages,
    group: &mut Group,
    again: &mut Vec<HeldRound>,
) -> Result<(Vec<Decision>, HashSet<Key>), Fault> {
    let keys: Vec<Key> = group.rounds.iter().flat_map(|it| it.keys.clone()).collect();
    let waits = group.waits();
    let mut rounds: Vec<OpenRound<'_>> = group.rounds.iter_mut().map(OpenRound::new).collect();
    let batch = batch_of(&rounds, &keys.iter().collect(), 0);
    let (held, results) = lock_keys(session, outages, &keys, waits, &batch).await?;
    for round in &mut rounds {
        round.must_wait = !round.held.keys.iter().all(|key| held.contains(key));
    }
    decide_each(session, outages, &mut rounds, results, &held.reserved).await?;
    let decisions: Vec<Option<Decision>> = rounds.into_iter().map(|it| it.decision).collect();
    Ok((keep_decided(group, decisions, again), held.reserved))
}

/// Locks the keys, and reads them and the batch. A key that is not held then is locked by another process, or was inserted by it
/// since the read.
async fn lock_keys(
    session: &PreparedSession,
    outages: &Outages,
    keys: &[Key],
    waits: bool,
    batch: &ReadBatch<'_>,
) -> Result<(HeldKeys, BatchResults), Fault> {
    let begin = lock_and_read(session, keys, waits, batch);
    let (locked, mut results) = outages.response(begin).await?;
    let unlocked = keys.iter().filter(|key| !locked.contains_key(*key));
    let mut unlocked = ReadBatch::of_keys(unlocked);
    if !unlocked.keys.is_empty() {
        // An existing key that was not locked is locked by another process.
        let found = outages.response(session.read(&unlocked)).await?;
        results.values.extend(found.values);
    }
    let absent = unlocked.keys.iter();
    let absent = absent.filter(|key| !results.values.contains_key(**key));
    let absent: Vec<&[u8]> = absent.map(|key| key.as_slice()).collect();
    let mut reserved = HashSet::new();
    if !absent.is_empty() {
        unlocked.keys.extend(&batch.keys);
        let scans = batch.scans.iter();
        unlocked.scans = scans
            .map(|(range, direction, limit)| {
                (*range, *direction, limit.saturating_add(absent.len()))
            })
            .collect();
        let reserve = reserve_and_read(session, absent, &unlocked);
        (reserved, results) = outages.response(reserve).await?;
        results.remove_reserved(&reserved);
    }
    let held = HeldKeys {
        locked: locked.keys().cloned().collect(),
        reserved,
    };
    results.values.extend(locked);
    Ok((held, results))
}

/// Lets the rounds decide, and reads what they request, until each has decided or must wait.
async fn decide_each(
    session: &PreparedSession,
    outages: &Outages,
    rounds: &mut [OpenRound<'_>],
    mut results: BatchResults,
    reserved: &HashSet<Key>,
) -> Result<(), Fault> {
    loop {
        distribute(rounds, results);
        let undecided = rounds.iter_mut().filter(|it| it.is_undecided());
        undecided.for_each(OpenRound::decide);
        if !rounds.iter().any(OpenRound::is_undecided) {
            return Ok(());
        }
        let batch = batch_of(rounds, &HashSet::new(), reserved.len());
        results = outages.response(session.read(&batch)).await?;
        results.remove_reserved(reserved);
    }
}

/// Keeps the rounds with a decision in the group, and moves the others to `again`.
fn keep_decided(
    group: &mut Group,
    decisions: Vec<Option<Decision>>,
    again: &mut Vec<HeldRound>,
) -> Vec<Decision> {
    let mut decided = Vec::new();
    for (mut round, decision) in mem::take(&mut group.rounds).into_iter().zip(decisions) {
        match decision {
            Some(decision) => {
                group.rounds.push(round);
                decided.push(decision);
            }
            None => {
                round.waits = true;
                again.push(round);
            }
        }
    }
    decided
}

/// The requested reads of rounds, without these keys. `reserved` is the number of rows that a scan finds beyond its limit and that
/// are removed from its pairs.
fn batch_of<'a>(
    rounds: &'a [OpenRound<'_>],
    without: &HashSet<&Key>,
    reserved: usize,
) -> ReadBatch<'a> {
    let mut batch = ReadBatch::default();
    let mut known = HashSet::new();
    for request in rounds.iter().flat_map(|it| &it.requests) {
        match request {
            ReadRequest::Get(key) if without.contains(key) => {}
            ReadRequest::Get(key) => drop(batch.keys.insert(key)),
            ReadRequest::Scan(range, direction, limit) => {
                if known.insert(request) {
                    let limit = limit.saturating_add(reserved);
                    batch.scans.push((range, *direction, limit));
                }
            }
        }
    }
    batch
}

/// Starts a transaction, locks rows and reads, in one round trip. Returns the pairs of the locked rows, and the results.
async fn lock_and_read(
    session: &PreparedSession,
    keys: &[Key],
    waits: bool,
    batch: &ReadBatch<'_>,
) -> Result<(HashMap<Key, Value>, BatchResults), Error> {
    let mut sorted: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    sorted.sort_unstable();
    let locks = by_relation(sorted);
    let locks = locks.iter().map(|(relation, keys)| async move {
        let lock = match waits {
            true => Statement::Lock(*relation),
            false => Statement::LockFree(*relation),
        };
        pairs(&session.rows(lock, &[keys]).await?)
    });
    // The driver sends them in this order, and each statement sees what was committed before it.
    let ((), locked, results) = tokio::try_join!(
        biased;
        session.session.begin(READ_WRITE),
        try_join_all(locks),
        session.read(batch)
    )?;
    Ok((locked.into_iter().flatten().collect(), results))
}

/// Inserts empty rows for held keys without a row, because only rows can be locked, and reads. The rows are never visible: the
/// transaction sets or deletes them. Returns the inserted keys; other processes are inserting the rest.
async fn reserve_and_read(
    session: &PreparedSession,
    absent: Vec<&[u8]>,
    batch: &ReadBatch<'_>,
) -> Result<(HashSet<Key>, BatchResults), Error> {
    let inserts = by_relation(absent);
    let inserts = inserts.iter().map(|(relation, keys)| async move {
        let rows = session.rows(Statement::Reserve(*relation), &[keys]).await?;
        let key = |row: &Row| row.try_get::<_, Key>(0);
        rows.iter().map(key).collect::<Result<Vec<Key>, Error>>()
    });
    // An insert waits for a process that holds the key, so the reads see what that process has committed.
    let (reserved, results) = tokio::try_join!(biased; try_join_all(inserts), session.read(batch))?;
    Ok((reserved.into_iter().flatten().collect(), results))
}

/// Distributes the results of a batch to the rounds that requested them.
fn distribute(rounds: &mut [OpenRound<'_>], results: BatchResults) {
    let mut scans: HashMap<ReadRequest, Pairs> = HashMap::new();
    let mut in_order = results.scans.into_iter();
    for round in rounds {
        for request in mem::take(&mut round.requests) {
            match request {
                ReadRequest::Get(key) => {
                    let value = results.values.get(&key).cloned();
                    round.reads.add_value(key, value);
                }
                ReadRequest::Scan(_, _, limit) => {
                    let next = || {
                        let mut pairs = in_order.next().unwrap_or_default();
                        pairs.truncate(limit);
                        pairs
                    };
                    let pairs = scans.entry(request.clone()).or_insert_with(next);
                    round.reads.add_pairs(request, pairs.clone());
                }
            }
        }
    }
}
