//! A node's in-memory copy of the queue that several nodes share. Lookups read the copy. It includes this node's own commits at once,
//! and the commits of other nodes after the next refresh.
//!
//! No decision builds on the copy: takes read the queue in the store.

use super::backlog::{Backlog, BacklogStart, TurnCounts};
use super::job_queue::{Depths, JobQueue, NextJob, QueuedJob};
use super::local_queue::LocalQueue;
use super::queue_change::QueueChange;
use crate::node::NodeContext;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::node::TakenJob;
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::queue_entry::{QueueClass, QueueEntry};
use tintype_storage::domain::tier::Tier;
use tintype_storage::engine::{Direction, KeyRange, ReadRequest};
use tintype_storage::store::tables::{QUEUE, TAKEN_JOBS};
use tintype_storage::store::{Gather as _, RoundReads, Store, StoreError, Writes};

/// The copy keeps this many entries of a tier and only counts the rest.
const LISTED: usize = 10_000;

/// A copy of the shared queue.
pub struct SharedQueue {
    node: Arc<NodeContext>,
    /// The jobs that this node has taken.
    local: Arc<LocalQueue>,
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

/// The queue as a refresh has read it.
struct QueueRead {
    tiers: [(Vec<(QueueEntry, AccountId)>, usize); 3],
    taken: HashMap<JobId, TakenJob>,
}

impl SharedQueue {
    pub fn new(node: Arc<NodeContext>, local: Arc<LocalQueue>) -> Self {
        Self {
            node,
            local,
            state: Mutex::default(),
            refreshing: tokio::sync::Mutex::default(),
        }
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
    fn listed(&self) -> usize {
        self.state.lock().entries.len()
    }
}

impl JobQueue for SharedQueue {
    fn add(&self, jobs: Vec<QueuedJob>) -> bool {
        if !jobs.is_empty() {
            self.node.take.notify_one();
        }
        false
    }

    fn remove_ended(
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

    fn apply(&self, changes: Vec<QueueChange>) {
        if changes.is_empty() {
            return;
        }
        let turns = self.local.turns();
        let mut state = self.state.lock();
        if let Some(since) = &mut state.since {
            since.extend(changes.iter().cloned());
        }
        changes
            .into_iter()
            .for_each(|change| state.apply(change, &turns));
    }

    fn slot_freed(&self) {
        self.node.take.notify_one();
    }

    fn refresh<'a>(&'a self, store: &'a Store) -> BoxFuture<'a, Result<usize, StoreError>> {
        Box::pin(async {
            let _refreshing = self.refreshing.lock().await;
            let turns = self.local.turns();
            self.begin_refresh();
            self.end_refresh(read(store).await?, &turns);
            Ok(self.listed())
        })
    }

    /// A job that is not listed is last.
    fn position(&self, job: QueuedJob) -> usize {
        let state = self.state.lock();
        if state.taken.contains_key(&job.job) {
            return 1;
        }
        let tier = state.of(job.tier);
        let listed = state.entries.get(&job.job).and_then(|it| tier.at(it).ok());
        let at = listed.unwrap_or(tier.listed.len() + tier.beyond);
        at.saturating_sub(tier.resumed_jobs()) + 1
    }

    fn next(
        &self,
        tier: Tier,
        account: Option<AccountId>,
        limit: usize,
        matches: &dyn Fn(JobId) -> bool,
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

    fn has_other(&self, tier: Tier, account: AccountId, pause: &Pause) -> bool {
        if self.local.has_other(tier, account, pause) {
            return true;
        }
        let (held, is_paused) = (self.local.held_accounts(tier), pause.covers(tier));
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

    fn queued(&self, tier: Tier) -> usize {
        self.state.lock().of(tier).waiting()
    }

    fn depths(&self) -> Depths {
        let state = self.state.lock();
        let resumed = state.tiers.iter().map(TierCopy::resumed_jobs);
        Depths {
            queued: Tier::ALL.map(|it| state.of(it).waiting()),
            running: state.taken.len() + resumed.sum::<usize>(),
        }
    }

    /// Counts only listed jobs.
    fn depths_of(&self, account: AccountId) -> Depths {
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

    fn live(&self) -> usize {
        let state = self.state.lock();
        let waiting = state.tiers.iter().map(|it| it.listed.len() + it.beyond);
        waiting.sum::<usize>() + state.taken.len()
    }

    fn begun(&self, tier: Tier) -> usize {
        let state = self.state.lock();
        state.taken_of(tier) + state.of(tier).resumed_jobs()
    }

    fn runs_elsewhere(&self, tier: Tier) -> bool {
        self.state.lock().taken_of(tier) > self.local.begun(tier)
    }

    fn backlog(&self, tier: Tier) -> Option<Backlog> {
        let turns = self.local.turns()[tier.index()];
        let state = self.state.lock();
        let tier = state.of(tier);
        tier.backlog
            .until(turns)
            .filter(|_| !tier.listed.is_empty())
    }

    /// Only listed jobs.
    fn oldest(&self, tier: Tier) -> Option<(AccountId, JobId)> {
        let state = self.state.lock();
        let listed = state.of(tier).listed.iter();
        let waiting = listed.filter(|(entry, _)| entry.class != QueueClass::Resumed);
        let waiting = waiting.map(|(entry, account)| (*account, entry.job));
        waiting.min_by_key(|(_, job)| *job)
    }
}

impl State {
    fn taken_of(&self, tier: Tier) -> usize {
        self.taken.values().filter(|it| it.tier == tier).count()
    }

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
