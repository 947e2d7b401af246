//! The state that all nodes share: the records, the keys that rounds hold, the fences, and the checks of every commit.

use super::deliveries::ReceiverLog;
use super::limits;
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tintype_storage::domain::delivery::DeliveryId;
use tintype_storage::domain::ids::{JobId, NodeId};
use tintype_storage::domain::job::JobState;
use tintype_storage::domain::queue_entry::{QueueClass, QueueEntry};
use tintype_storage::domain::webhook::WebhookId;
use tintype_storage::engine::{Engine, Holds, Key, Value, Wait as _};
use tintype_storage::store::Store;
use tintype_storage::store::tables::{ENDED_JOBS, LIVE_JOBS, NODES, QUEUE, TAKEN_JOBS};
use tintype_storage::testing::memory::MemoryEngine;
use tintype_storage::verify::verify;
use tokio::time::Instant;

/// The longest time for which takes may skip a job: a second until the next full scan, the wait of a take for a late node that holds
/// the record of the served turns, and the delay of its own commit.
const MAX_SKIPPED: Duration = Duration::from_secs(20);

/// Concurrent runs of the backend, per node or in total.
pub const SLOTS: usize = 2;

pub struct SharedState {
    pub memory: Arc<MemoryEngine>,
    /// Do the nodes share the slots of the backend?
    pub has_shared_slots: bool,
    pub holds: Arc<Holds>,
    /// No more failures are injected.
    pub calm: AtomicBool,
    pub receivers: ReceiverLog,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    fenced: HashSet<NodeId>,
    /// When each place of the queue was recorded.
    queued: BTreeMap<QueueEntry, Instant>,
    /// The node that took each job last.
    taken: HashMap<JobId, NodeId>,
    ended: HashSet<JobId>,
    /// The nodes whose backends work for each job.
    working: HashMap<JobId, Vec<NodeId>>,
    dead: HashSet<NodeId>,
    lines: Vec<String>,
    faults: Vec<String>,
    counts: BTreeMap<&'static str, u64>,
}

impl SharedState {
    pub fn new(memory: Arc<MemoryEngine>, has_shared_slots: bool) -> Self {
        Self {
            memory,
            has_shared_slots,
            holds: Arc::default(),
            calm: AtomicBool::new(false),
            receivers: ReceiverLog::default(),
            state: Mutex::default(),
        }
    }

    pub fn is_calm(&self) -> bool {
        self.calm.load(Ordering::SeqCst)
    }

    pub fn is_fenced(&self, node: NodeId) -> bool {
        self.state.lock().fenced.contains(&node)
    }

    pub fn fence(&self, node: NodeId) {
        let mut state = self.state.lock();
        state.lines.push(format!("{node} is fenced"));
        state.fenced.insert(node);
    }

    /// Is the node dead or fenced?
    fn is_gone(state: &State, node: NodeId) -> bool {
        state.dead.contains(&node) || state.fenced.contains(&node)
    }

    pub fn count(&self, what: &'static str) {
        *self.state.lock().counts.entry(what).or_default() += 1;
    }

    pub fn trace(&self, line: String) {
        self.state.lock().lines.push(line);
    }

    pub fn fault(&self, text: String) {
        let mut state = self.state.lock();
        state.lines.push(format!("FAULT {text}"));
        state.faults.push(text);
    }

    pub fn died(&self, node: NodeId) {
        self.state.lock().dead.insert(node);
    }

    pub fn report(&self) -> (Vec<String>, Vec<String>, BTreeMap<&'static str, u64>) {
        let mut state = self.state.lock();
        (
            std::mem::take(&mut state.lines),
            std::mem::take(&mut state.faults),
            std::mem::take(&mut state.counts),
        )
    }

    pub fn work_begins(&self, job: JobId, node: NodeId) {
        let mut state = self.state.lock();
        let others: Vec<NodeId> = state
            .working
            .get(&job)
            .into_iter()
            .flatten()
            .copied()
            .filter(|it| !Self::is_gone(&state, *it))
            .collect();
        if !others.is_empty() && !Self::is_gone(&state, node) {
            let text = format!("job {job} runs at {node} and at {others:?}");
            state.faults.push(text);
        }
        state.working.entry(job).or_default().push(node);
        let working = state.working.values().flatten();
        let working = working.filter(|it| !Self::is_gone(&state, **it)).count();
        if self.has_shared_slots && !Self::is_gone(&state, node) {
            *state.counts.entry("runs in shared places").or_default() += 1;
            if working > SLOTS {
                let text = format!("{working} runs on a backend with {SLOTS} slots");
                state.faults.push(text);
            }
        }
    }

    pub fn work_ends(&self, job: JobId, node: NodeId) {
        let mut state = self.state.lock();
        if let Some(nodes) = state.working.get_mut(&job)
            && let Some(at) = nodes.iter().position(|it| *it == node)
        {
            nodes.remove(at);
        }
    }

    pub fn attempt_begins(&self, webhook: WebhookId, node: NodeId, id: DeliveryId) {
        let others = self.receivers.begin(webhook, node);
        let mut state = self.state.lock();
        state.lines.push(format!("{node} sends {id}"));
        if state.fenced.contains(&node) {
            let text = format!("{node} sends {id} after it was declared dead");
            state.faults.push(text);
        }
        let others: Vec<NodeId> = others
            .into_iter()
            .filter(|it| !Self::is_gone(&state, *it))
            .collect();
        if !others.is_empty() && !Self::is_gone(&state, node) {
            let text = format!("{node} and {others:?} send to webhook {webhook}");
            state.faults.push(text);
        }
    }

    /// Verifies the invariants of the store, which hold between any two commits.
    pub fn verify(&self) {
        let store = Store::new(Arc::clone(&self.memory) as Arc<dyn Engine>);
        let report = verify(&store, |_| {}).expect("a report");
        report.faults.into_iter().for_each(|it| self.fault(it));
    }

    /// Only the node that has taken a job may change its run: after another node has taken the job, the change would miscount its runs.
    fn check_runs(&self, node: NodeId, writes: &[(Key, Option<Value>)]) {
        let store = Store::new(Arc::clone(&self.memory) as Arc<dyn Engine>);
        if NODES.all(&store).wait().expect("readable").is_empty() {
            return;
        }
        for (key, value) in writes {
            let Some(value) = value else { continue };
            let Some((_, job)) = LIVE_JOBS.entry(key, value).expect("readable") else {
                continue;
            };
            let is_run = matches!(job.state, JobState::Processing { .. });
            let taken = TAKEN_JOBS.get(&store, &(node, job.id)).wait();
            if is_run && taken.expect("readable").is_none() {
                let id = job.id;
                self.fault(format!(
                    "{node} changes a run of job {id}, which it does not have"
                ));
            }
        }
    }

    /// Checks a commit that becomes durable now.
    pub fn committed(&self, node: NodeId, writes: &[(Key, Option<Value>)]) {
        let now = Instant::now();
        let (faults, counts) = self.receivers.committed(writes);
        faults.into_iter().for_each(|it| self.fault(it));
        counts.into_iter().for_each(|it| self.count(it));
        limits::faults(writes)
            .into_iter()
            .for_each(|it| self.fault(it));
        self.check_runs(node, writes);
        let mut state = self.state.lock();
        let state = &mut *state;
        let takes = writes.iter().filter(|(_, value)| value.is_some());
        let takes = takes.filter_map(|(key, _)| TAKEN_JOBS.read_key(key));
        let takes: HashSet<JobId> = takes.map(|(_, job)| job).collect();
        let mut moved: Vec<QueueEntry> = Vec::new();
        for (key, value) in writes {
            if let Some(place) = QUEUE.read_key(key) {
                let change = if value.is_some() {
                    "queues"
                } else {
                    "unqueues"
                };
                state.lines.push(format!("{node} {change} {place:?}"));
                match value {
                    Some(_) => {
                        if place.class == QueueClass::Resumed {
                            *state.counts.entry("jobs taken over").or_default() += 1;
                        }
                        state.queued.insert(place, now);
                    }
                    // The job has ended.
                    None if !takes.contains(&place.job) => drop(state.queued.remove(&place)),
                    None => {
                        moved.push(place);
                        let was_queued = state.queued.remove(&place).is_some();
                        // A job that ended during a take is found to have ended when its run would begin.
                        if !was_queued && !state.ended.contains(&place.job) {
                            let text = format!("{node} has taken job {} twice", place.job);
                            state.faults.push(text);
                        }
                    }
                }
            } else if let (Some((taker, job)), Some(_)) = (TAKEN_JOBS.read_key(key), value) {
                state.taken.insert(job, taker);
                state.lines.push(format!("{taker} takes {job}"));
            } else if let (Some((_, job)), Some(_)) = (ENDED_JOBS.read_key(key), value)
                && !state.ended.insert(job)
            {
                state.faults.push(format!("job {job} has ended twice"));
            }
        }
        for place in &moved {
            let skipped = state.queued.iter().find(|(other, since)| {
                (other.tier, other.class) == (place.tier, place.class)
                    && other.turn < place.turn
                    && now.duration_since(**since) > MAX_SKIPPED
            });
            if let Some((other, _)) = skipped {
                let text = format!("{node} has taken {place:?} before {other:?}");
                state.lines.push(format!("FAULT {text}"));
                state.faults.push(text);
            }
        }
    }
}
