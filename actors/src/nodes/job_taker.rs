//! A node with free slots takes the next jobs of the shared queue.
//!
//! A take holds the record of a tier's served turns from before its reads until its commit. This serializes the takes of all nodes: no
//! job is taken twice, and none is skipped.

use super::shared_slots::SlotDemands;
use crate::dispatch::DispatchContext;
use crate::node::NodeContext;
use crate::queue::{JobQueue as _, Lane, QueueChange, QueuedJob};
use crate::round::decide;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tintype_storage::domain::ids::{AccountId, JobId, NodeId};
use tintype_storage::domain::node::TakenJob;
use tintype_storage::domain::queue_entry::{QueueClass, QueueEntry, Turns};
use tintype_storage::domain::tier::Tier;
use tintype_storage::engine::{Direction, Key, ReadRequest};
use tintype_storage::store::tables::{LIVE_JOBS, NODES, PAUSE, QUEUE, SERVED_TURNS, TAKEN_JOBS};
use tintype_storage::store::{Decision, Gather as _, RoundReads, StoreError, Writes};
use tokio::time::{Instant, timeout};

/// Other nodes add jobs to the queue without waking this one.
const POLL: Duration = Duration::from_millis(250);
/// An acceptance that read the served turns before a take and commits after it gets an entry below them. Only a full scan, from the
/// first entry on, finds that entry.
const FULL_SCAN_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of jobs per round.
const MAX_JOBS: usize = 64;
/// Queue entries of held accounts that a take reads besides the jobs that it may take.
const MAX_HELD: usize = 1_000;

/// The last full scan of a tier, for each class [`IN_TURN`].
#[derive(Clone, Copy, Default)]
struct FullScans([Option<Instant>; 2]);

impl FullScans {
    fn are_due(&self, now: Instant) -> [bool; 2] {
        let is_due = |last: Option<Instant>| {
            last.is_none_or(|last| now.duration_since(last) >= FULL_SCAN_INTERVAL)
        };
        self.0.map(is_due)
    }

    fn record(&mut self, scanned_all: [bool; 2], found_all: [bool; 2], now: Instant) {
        for (at, last) in self.0.iter_mut().enumerate() {
            if scanned_all[at] && found_all[at] {
                *last = Some(now);
            }
        }
    }
}

/// The classes whose turns rise.
const IN_TURN: [QueueClass; 2] = [QueueClass::Single, QueueClass::Batch];

/// Takes jobs for the dispatcher of this node.
pub struct JobTaker {
    pub node: Arc<NodeContext>,
    pub dispatch: Arc<DispatchContext>,
}

impl JobTaker {
    /// Runs until it is aborted.
    pub async fn run(self) {
        let mut full_scans = [FullScans::default(); 3];
        loop {
            let _ = timeout(POLL, self.node.take.notified()).await;
            let _taking = self.node.taking.lock().await;
            if !self.node.is_trusted() {
                continue;
            }
            for tier in Tier::ALL {
                let full_scans = &mut full_scans[tier.index()];
                if let Err(error) = self.take(tier, full_scans).await {
                    return self.dispatch.process.fail_stop.trip(error.to_string());
                }
            }
        }
    }

    /// Takes jobs for the free slots, and releases unused slots of shared backends. A node that leaves, or whose object store fails, takes
    /// no jobs, but still takes slots for runs that fail over.
    async fn take(&self, tier: Tier, full_scans: &mut FullScans) -> Result<(), StoreError> {
        loop {
            let can_store = self.dispatch.job_objects.is_usable();
            let takes_jobs = !self.node.is_leaving() && can_store;
            let DispatchContext {
                queue,
                local_queue,
                pool,
                ..
            } = &*self.dispatch;
            let now = Instant::now();
            self.dispatch.end_cool_downs_for_others(now);
            let pause = self.dispatch.process.durable_pause.read().clone();
            let waiting = match takes_jobs {
                true => local_queue.waiting(&pause),
                false => [0; 3],
            };
            let has_only_paused_backends = pool.has_only_paused_backends(tier);
            let own_slots = match takes_jobs {
                // A job that has begun a run waits at a node, which fails it at its deadline.
                true if has_only_paused_backends => {
                    pool.slots(tier).saturating_sub(local_queue.begun(tier))
                }
                // Jobs of all tiers may wait for the same slots.
                true => {
                    let own_slots = pool.own_slots(tier, now);
                    own_slots.saturating_sub(waiting.iter().sum())
                }
                false => 0,
            };
            let demands = pool.release_spare_slots(tier, waiting, can_store, now);
            let demands = SlotDemands(demands);
            if own_slots == 0 && !demands.may_change_slots(takes_jobs) {
                return Ok(());
            }
            let scans_all = full_scans.are_due(now);
            let take = Take {
                node: self.node.id,
                tier,
                own_slots,
                demands,
                takes_jobs,
                is_paused: pause.covers(tier) || has_only_paused_backends,
                held: local_queue.held_accounts(tier),
                scans_all,
            };
            let taken = decide(&self.dispatch.process.store, take).await?;
            let has_slots = taken.slots.iter().any(|(_, slots)| *slots > 0);
            for (backend, slots) in taken.slots {
                pool.add_slots(backend, slots);
            }
            if has_slots {
                local_queue.wake();
            }
            queue.apply(taken.changes);
            full_scans.record(scans_all, taken.found_all, now);
            let count = taken.jobs.len();
            self.queue(taken.jobs);
            if count < taken.limit || taken.limit == 0 {
                return Ok(());
            }
        }
    }

    /// Gives the dispatcher the taken jobs.
    fn queue(&self, jobs: Vec<(QueueClass, QueuedJob)>) {
        if jobs.is_empty() {
            return;
        }
        let local_queue = &self.dispatch.local_queue;
        let stats = &self.dispatch.process.stats.nodes;
        let count = jobs.len() as u64;
        for (class, job) in jobs {
            match class {
                QueueClass::Resumed => local_queue.push_begun(job),
                QueueClass::Single | QueueClass::Batch => drop(local_queue.push_all([job])),
            }
        }
        local_queue.wake();
        stats.takes.fetch_add(1, Ordering::Relaxed);
        stats.jobs_taken.fetch_add(count, Ordering::Relaxed);
    }
}

struct Take {
    node: NodeId,
    tier: Tier,
    /// Free slots of backends that are not shared. While all backends are paused, the number of resumed jobs for which this node may wait.
    own_slots: usize,
    demands: SlotDemands,
    /// If false, the round only takes and releases slots.
    takes_jobs: bool,
    /// Is the tier, or each of its backends, paused, as far as this node knows? Then its dispatcher starts no queued job.
    is_paused: bool,
    /// Accounts whose batch jobs could not begin at this node now. They stay in the queue.
    held: HashSet<AccountId>,
    /// By class: scan from the first entry on, not from the last served turn on?
    scans_all: [bool; 2],
}

#[derive(Default)]
struct TakeOutcome {
    /// By the class from which the node took them.
    jobs: Vec<(QueueClass, QueuedJob)>,
    /// The number of jobs that had slots.
    limit: usize,
    /// Slots of shared backends, by the index of the backend.
    slots: Vec<(usize, usize)>,
    /// By class: has the take found all scanned entries below the last served turn?
    found_all: [bool; 2],
    changes: Vec<QueueChange>,
}

impl Decision for Take {
    type Outcome = TakeOutcome;

    fn locked_keys(&self) -> Vec<Key> {
        let mut holds = vec![SERVED_TURNS.key(&self.tier)];
        holds.extend(self.demands.locked_keys());
        holds
    }

    fn initial_reads(&self) -> Vec<ReadRequest> {
        let mut needs = vec![
            SERVED_TURNS.request(&self.tier),
            NODES.request(&self.node),
            PAUSE.request(&()),
        ];
        needs.extend(self.demands.initial_reads());
        needs
    }

    fn decide(&mut self, reads: &RoundReads<'_>) -> Result<(Writes, TakeOutcome), StoreError> {
        let served = reads.get(&SERVED_TURNS, &self.tier)?.unwrap_or_default();
        let own = reads.get(&NODES, &self.node)?;
        let pause = reads.get(&PAUSE, &())?;
        if own.is_none_or(|it| it.has_ended) {
            return Ok((Writes::new(), TakeOutcome::default()));
        }
        let is_paused = self.is_paused || pause.is_some_and(|it| it.covers(self.tier));
        let mut slots = self.demands.settle(self.node, reads)?;
        let limit = match self.takes_jobs {
            true => (self.own_slots + slots.free()).min(MAX_JOBS),
            false => 0,
        };
        if limit == 0 {
            let nothing = TakeOutcome {
                slots: slots.granted_slots(),
                ..TakeOutcome::default()
            };
            return Ok((slots.writes(), nothing));
        }
        let classes: &[QueueClass] = match is_paused {
            // Jobs that have begun a run go on during a pause.
            true => &[QueueClass::Resumed],
            false => &QueueClass::ALL,
        };
        let scan = |class: &QueueClass| reads.pairs(&self.scan(*class, served.of(*class), limit));
        let scanned = classes.iter().map(scan).collect::<Vec<_>>().gather()?;
        let entries = scanned.iter().flat_map(|it| it.iter());
        let entries = entries.filter_map(|(key, value)| QUEUE.entry(key, value).transpose());
        let entries = entries.collect::<Result<Vec<_>, _>>()?;
        let Found { next, skips } = self.find(entries, reads, limit)?;
        let found_all = IN_TURN.map(|class| {
            let is_beyond = |it: &QueueEntry| {
                it.class > class || it.class == class && it.turn >= served.of(class)
            };
            let is_skipped = skips && class == QueueClass::Batch;
            !is_paused
                && !is_skipped
                && (next.len() < limit || next.iter().any(|(it, _)| is_beyond(it)))
        });
        let (mut writes, jobs) = self.take_all(next, served);
        slots.take(jobs.len());
        writes.extend(slots.writes());
        let changes = QueueChange::of(&writes)?;
        let taken = TakeOutcome {
            jobs,
            limit,
            slots: slots.granted_slots(),
            found_all,
            changes,
        };
        Ok((writes, taken))
    }
}

/// The next jobs of the queue.
struct Found {
    next: Vec<(QueueEntry, QueuedJob)>,
    /// Were queued jobs of held accounts left out?
    skips: bool,
}

impl Take {
    /// Leaves out batch jobs of held accounts: they could not begin at this node now.
    fn find(
        &self,
        entries: Vec<(QueueEntry, AccountId)>,
        reads: &RoundReads<'_>,
        limit: usize,
    ) -> Result<Found, StoreError> {
        // An entry of a resumed job does not tell whether the job belongs to a batch.
        let resumed = entries
            .iter()
            .filter(|(it, _)| it.class == QueueClass::Resumed);
        let resumed = resumed.map(|(entry, account)| (*account, entry.job));
        let resumed = reads.get_all(&LIVE_JOBS, resumed)?;
        let lane_of = |entry: &QueueEntry, account| match entry.class {
            QueueClass::Resumed => {
                let job = resumed.get(&(account, entry.job));
                job.map_or(Lane::Single, Lane::of)
            }
            QueueClass::Single => Lane::Single,
            QueueClass::Batch => Lane::Batch,
        };
        let (mut next, mut skips) = (Vec::new(), false);
        for (entry, account) in entries {
            if next.len() == limit {
                break;
            }
            let lane = lane_of(&entry, account);
            if lane == Lane::Batch && self.held.contains(&account) {
                skips |= entry.class == QueueClass::Batch;
                continue;
            }
            let queued = QueuedJob {
                job: entry.job,
                account,
                tier: entry.tier,
                lane,
            };
            next.push((entry, queued));
        }
        Ok(Found { next, skips })
    }

    /// Moves jobs from their entries in the queue to this node.
    fn take_all(
        &self,
        found: Vec<(QueueEntry, QueuedJob)>,
        mut served: Turns,
    ) -> (Writes, Vec<(QueueClass, QueuedJob)>) {
        let (mut writes, mut jobs) = (Writes::new(), Vec::new());
        for (entry, queued) in found {
            let taken = TakenJob {
                account: queued.account,
                tier: entry.tier,
                class: entry.class,
            };
            served.raise(entry.class, entry.turn);
            writes.push(QUEUE.delete(&entry));
            writes.push(TAKEN_JOBS.put(&(self.node, entry.job), &taken));
            jobs.push((entry.class, queued));
        }
        if !jobs.is_empty() {
            writes.push(SERVED_TURNS.put(&self.tier, &served));
        }
        (writes, jobs)
    }

    fn scan(&self, class: QueueClass, served: u64, limit: usize) -> ReadRequest {
        let mut range = QUEUE.range(&(self.tier, class));
        let scans_all = IN_TURN
            .iter()
            .zip(self.scans_all)
            .any(|(it, scans_all)| *it == class && scans_all);
        if class != QueueClass::Resumed && !scans_all {
            let first = QueueEntry {
                tier: self.tier,
                class,
                turn: served,
                job: JobId(uuid::Uuid::nil()),
            };
            range = range.starting_at(QUEUE.key(&first));
        }
        let held = match class != QueueClass::Single && !self.held.is_empty() {
            true => MAX_HELD,
            false => 0,
        };
        ReadRequest::Scan(range, Direction::Rising, limit + held)
    }
}
