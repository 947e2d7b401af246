//! A node's in-memory copy of the queue that several nodes share. Lookups read the copy. It includes this node's own commits at once,
//! and the commits of other nodes after the next refresh.
//!
//! No decision builds on the copy: takes read the queue in the store.

use super::backlog::{Backlog, BacklogStart, TurnCounts};
use super::job_queues::{Depths, NextJob, QueuedJob};
use parking_lot::Mutex;
use std::collections::{BTreeSet, HashMap, HashSet};
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::node::TakenJob;
use tintype_storage::domain::queue_entry::{QueueClass, QueueEntry};
use tintype_storage::domain::tier::Tier;
use tintype_storage::engine::{Direction, KeyRange, ReadRequest};
use tintype_storage::store::tables::{QUEUE, TAKEN_JOBS};
use tintype_storage::store::{Gather as _, RoundReads, Store, StoreError, Writes};

/// The copy keeps this many entries of a tier and only counts the rest.
const LISTED: usize = 10_000;

/// A copy of the shared queue.
#[derive(Default)]
pub struct SharedQueue {
    state: Mutex<State>,
    /// Held during a refresh: two at a time would take each other's `since`.
    refreshing: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    tiers: [TierCopy; 3],
    entries: HashMap<JobId, QueueEntry>,
    /// Jobs that nodes have taken and not ended.
    taken: HashMap<JobId, TakenJob>,
    /// During a refresh: the commits of this node since the read began.
    since: Option<Vec<QueueChange>>,
}

#[derive(Default)]
struct TierCopy {
    /// In the order in which they are served.
    listed: Vec<(QueueEntry, AccountId)>,
    /// The number of entries behind the listed ones.
    beyond: usize,
    backlog: BacklogStart,
}

/// A change of the queue by a commit of this node.
#[derive(Clone, Debug)]
pub enum QueueChange {
    Queued(QueueEntry, AccountId),
    Left(QueueEntry),
    Taken(JobId, TakenJob),
    Released(JobId),
}

impl QueueChange {
    /// The changes of the queue that `writes` make.
    ///
    /// # Errors
    /// A record is damaged.
    pub fn of(writes: &Writes) -> Result<Vec<Self>, StoreError> {
        let mut changes = Vec::new();
        for (key, value) in writes {
            let change = match value {
                Some(value) => match QUEUE.entry(key, value)? {
                    Some((entry, account)) => Some(Self::Queued(entry, account)),
                    None => TAKEN_JOBS
                        .entry(key, value)?
                        .map(|((_, job), taken)| Self::Taken(job, taken)),
                },
                None => match QUEUE.read_key(key) {
                    Some(entry) => Some(Self::Left(entry)),
                    None => TAKEN_JOBS.read_key(key).map(|(_, job)| Self::Released(job)),
                },
            };
            changes.extend(change);
        }
        Ok(changes)
    }
}

/// The queue as a refresh has read it.
struct QueueRead {
    tiers: [(Vec<(QueueEntry, AccountId)>, usize); 3],
    taken: HashMap<JobId, TakenJob>,
}

impl SharedQueue {
    /// Removes the entries of jobs that end without a run, and returns all changes of the queue by `writes`.
    ///
    /// # Errors
    /// A record is damaged, or was not read.
    pub fn remove_ended(
        &self,
        jobs: &[(Tier, JobId)],
        reads: &RoundReads<'_>,
        writes: &mut Writes,
    ) -> Result<Vec<QueueChange>, StoreError> {
        let state = self.state.lock();
        // Another node may have queued a job a moment ago. An entry far behind in a long queue stays until a take finds its job ended.
        let is_unknown = |(tier, job): &&(Tier, JobId)| {
            !state.entries.contains_key(job) && state.of(*tier).beyond == 0
        };
        let unknown = jobs.iter().filter(is_unknown);
        let tiers: BTreeSet<Tier> = unknown.map(|(tier, _)| *tier).collect();
        let scans = tiers.into_iter().map(|tier| reads.pairs(&queue_of(tier)));
        let mut read: HashMap<JobId, QueueEntry> = HashMap::new();
        for pairs in scans.collect::<Vec<_>>().gather()? {
            let entries = pairs.iter().filter_map(|(key, _)| QUEUE.read_key(key));
            read.extend(entries.map(|it| (it.job, it)));
        }
        let entry = |job| state.entries.get(job).or_else(|| read.get(job));
        let entries = jobs.iter().filter_map(|(_, job)| entry(job));
        writes.extend(entries.map(|it| QUEUE.delete(it)));
        drop(state);
        QueueChange::of(writes)
    }

    /// Applies a commit of this node. `turns` are the turns of its own queues.
    pub fn apply(&self, changes: Vec<QueueChange>, turns: [TurnCounts; 3]) {
        if changes.is_empty() {
            return;
        }
        let mut state = self.state.lock();
        if let Some(since) = &mut state.since {
            since.extend(changes.iter().cloned());
        }
        changes
            .into_iter()
            .for_each(|change| state.apply(change, &turns));
    }

    /// Reads the queue again.
    ///
    /// # Errors
    /// The engine fails, or a record is damaged.
    pub async fn refresh(&self, store: &Store, turns: [TurnCounts; 3]) -> Result<(), StoreError> {
        let _refreshing = self.refreshing.lock().await;
        self.begin_refresh();
        let read = read(store).await?;
        self.end_refresh(read, &turns);
        Ok(())
    }

    fn begin_refresh(&self) {
        self.state.lock().since = Some(Vec::new());
    }

    fn end_refresh(&self, read: QueueRead, turns: &[TurnCounts; 3]) {
        let mut state = self.state.lock();
        let since = state.since.take().unwrap_or_default();
        state.replace(read, turns);
        since
            .into_iter()
            .for_each(|change| state.apply(change, turns));
    }

    /// The number of listed entries.
    pub fn listed(&self) -> usize {
        self.state.lock().entries.len()
    }

    /// The position of a job that is queued in the store: 1 is the next job. It is 1 for a job that a node has taken. A job that is not
    /// listed is last.
    pub fn position(&self, job: &QueuedJob) -> usize {
        let state = self.state.lock();
        if state.taken.contains_key(&job.job) {
            return 1;
        }
        let tier = state.of(job.tier);
        let listed = state.entries.get(&job.job).and_then(|it| tier.at(it).ok());
        let at = listed.unwrap_or(tier.listed.len() + tier.beyond);
        at.saturating_sub(tier.resumed_jobs()) + 1
    }

    /// The next jobs; see [`JobQueues::next`](super::JobQueues::next).
    pub fn next(
        &self,
        tier: Tier,
        account: Option<AccountId>,
        limit: usize,
        matches: impl Fn(JobId) -> bool,
    ) -> Vec<NextJob> {
        let state = self.state.lock();
        let tier = state.of(tier);
        let waiting = tier.listed[tier.resumed_jobs()..].iter().enumerate();
        let matching = waiting
            .filter(|(_, (entry, of))| account.is_none_or(|it| it == *of) && matches(entry.job));
        let next = |(at, (entry, account)): (usize, &(QueueEntry, AccountId))| NextJob {
            account: *account,
            job: entry.job,
            position: at + 1,
        };
        matching.map(next).take(limit).collect()
    }

    /// Does a listed job that may begin belong to an account other than this one? No batch job of the `held` accounts begins.
    pub fn has_other(
        &self,
        tier: Tier,
        account: AccountId,
        held: &HashSet<AccountId>,
        is_paused: bool,
    ) -> bool {
        let state = self.state.lock();
        let mut listed = state.of(tier).listed.iter();
        listed.any(|(entry, of)| {
            let may_begin = match entry.class {
                QueueClass::Resumed => true,
                QueueClass::Single => !is_paused,
                QueueClass::Batch => !is_paused && !held.contains(of),
            };
            *of != account && may_begin
        })
    }

    /// The number of jobs that wait for their first run.
    pub fn len(&self, tier: Tier) -> usize {
        self.state.lock().of(tier).waiting()
    }

    pub fn depths(&self) -> Depths {
        let state = self.state.lock();
        let resumed = state.tiers.iter().map(TierCopy::resumed_jobs);
        Depths {
            queued: Tier::ALL.map(|it| state.of(it).waiting()),
            running: state.taken.len() + resumed.sum::<usize>(),
        }
    }

    /// Counts only listed jobs.
    pub fn depths_of(&self, account: AccountId) -> Depths {
        let state = self.state.lock();
        let taken = state.taken.values().filter(|it| it.account == account);
        let mut depths = Depths {
            running: taken.count(),
            ..Depths::default()
        };
        for tier in Tier::ALL {
            let listed = state.of(tier).listed.iter();
            for (entry, _) in listed.filter(|(_, of)| *of == account) {
                match entry.class {
                    QueueClass::Resumed => depths.running += 1,
                    QueueClass::Single | QueueClass::Batch => depths.queued[tier.index()] += 1,
                }
            }
        }
        depths
    }

    /// The number of jobs that are not terminal.
    pub fn live(&self) -> usize {
        let state = self.state.lock();
        let waiting = state.tiers.iter().map(|it| it.listed.len() + it.beyond);
        waiting.sum::<usize>() + state.taken.len()
    }

    /// The number of jobs that lookups call `processing`: jobs that nodes have taken, and jobs that wait for a further run.
    pub fn begun(&self, tier: Tier) -> usize {
        let state = self.state.lock();
        let taken = state.taken.values().filter(|it| it.tier == tier).count();
        taken + state.of(tier).resumed_jobs()
    }

    /// This node's turns since it last saw the queue of a tier empty; `None` for an empty queue.
    pub fn backlog(&self, tier: Tier, turns: TurnCounts) -> Option<Backlog> {
        let state = self.state.lock();
        let tier = state.of(tier);
        tier.backlog
            .until(turns)
            .filter(|_| !tier.listed.is_empty())
    }

    /// The listed job with the longest wait for its first run.
    pub fn oldest(&self, tier: Tier) -> Option<(AccountId, JobId)> {
        let state = self.state.lock();
        let listed = state.of(tier).listed.iter();
        let waiting = listed.filter(|(entry, _)| entry.class != QueueClass::Resumed);
        let waiting = waiting.map(|(entry, account)| (*account, entry.job));
        waiting.min_by_key(|(_, job)| *job)
    }
}

impl State {
    fn of(&self, tier: Tier) -> &TierCopy {
        &self.tiers[tier.index()]
    }

    fn replace(&mut self, read: QueueRead, turns: &[TurnCounts; 3]) {
        self.entries.clear();
        self.taken = read.taken;
        let tiers = self.tiers.iter_mut().zip(read.tiers).zip(turns);
        for ((tier, (listed, beyond)), turns) in tiers {
            let was_empty = tier.listed.is_empty();
            if let Some((first, _)) = listed.first().filter(|_| was_empty) {
                tier.backlog = BacklogStart::at(first.job, *turns);
            }
            let entries = listed.iter().map(|(entry, _)| (entry.job, *entry));
            self.entries.extend(entries);
            tier.listed = listed;
            tier.beyond = beyond;
        }
    }

    fn apply(&mut self, change: QueueChange, turns: &[TurnCounts; 3]) {
        match change {
            QueueChange::Queued(entry, account) => {
                let tier = &mut self.tiers[entry.tier.index()];
                if tier.listed.is_empty() {
                    tier.backlog = BacklogStart::at(entry.job, turns[entry.tier.index()]);
                }
                let Err(at) = tier.at(&entry) else { return };
                match tier.beyond > 0 && at == tier.listed.len() {
                    true => tier.beyond += 1,
                    false => {
                        tier.listed.insert(at, (entry, account));
                        self.entries.insert(entry.job, entry);
                    }
                }
            }
            QueueChange::Left(entry) => {
                let tier = &mut self.tiers[entry.tier.index()];
                if let Ok(at) = tier.at(&entry) {
                    tier.listed.remove(at);
                }
                self.entries.remove(&entry.job);
            }
            QueueChange::Taken(job, taken) => drop(self.taken.insert(job, taken)),
            QueueChange::Released(job) => drop(self.taken.remove(&job)),
        }
    }
}

impl TierCopy {
    fn at(&self, entry: &QueueEntry) -> Result<usize, usize> {
        self.listed.binary_search_by_key(entry, |(it, _)| *it)
    }

    fn resumed_jobs(&self) -> usize {
        self.listed
            .partition_point(|(entry, _)| entry.class == QueueClass::Resumed)
    }

    fn waiting(&self) -> usize {
        self.listed.len() + self.beyond - self.resumed_jobs()
    }
}

/// The same scan as that of a refresh.
fn queue_of(tier: Tier) -> ReadRequest {
    ReadRequest::Scan(QUEUE.range(&tier), Direction::Rising, LISTED)
}

async fn read(store: &Store) -> Result<QueueRead, StoreError> {
    let tier = |tier: Tier| async move {
        let all = QUEUE.range(&tier);
        let listed = QUEUE.scan(store, &all, Direction::Rising, LISTED).await?;
        let beyond = match listed.last().filter(|_| listed.len() == LISTED) {
            Some((last, _)) => count_behind(store, &all, last).await?,
            None => 0,
        };
        Ok::<_, StoreError>((listed, beyond))
    };
    let (fast, quality, pro, taken) = futures_util::try_join!(
        tier(Tier::Fast),
        tier(Tier::Quality),
        tier(Tier::Pro),
        TAKEN_JOBS.all(store),
    )?;
    let taken = taken.into_iter().map(|((_, job), taken)| (job, taken));
    Ok(QueueRead {
        tiers: [fast, quality, pro],
        taken: taken.collect(),
    })
}

async fn count_behind(
    store: &Store,
    all: &KeyRange,
    last: &QueueEntry,
) -> Result<usize, StoreError> {
    let behind = all.clone().starting_at(QUEUE.key(last));
    let count = store.engine().count(&behind).await?;
    Ok(count.saturating_sub(1))
}

#[cfg(test)]
mod tests;
