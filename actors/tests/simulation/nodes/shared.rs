//! What all nodes share: the records, the keys that rounds hold, the fences, and the rules that every commit is held against.

use super::post::Post;
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tintype_storage::domain::delivery::DeliveryId;
use tintype_storage::domain::ids::{JobId, NodeId};
use tintype_storage::domain::queue_entry::{QueueClass, QueueEntry};
use tintype_storage::domain::webhook::WebhookId;
use tintype_storage::engine::{Holds, Key, Value};
use tintype_storage::store::tables::{ENDED_JOBS, QUEUE, TAKEN_JOBS};
use tintype_storage::testing::memory::MemoryEngine;
use tokio::time::Instant;

/// A job that could be served is passed over for so long at most: a second until a take looks from the first place on, the time
/// that a take waits for a late node that holds the record of the turns served, and the time that its own commit may be late.
const PASSED_OVER: Duration = Duration::from_secs(20);

/// Runs that the back end takes at a time: from each node, or from all together.
pub const PLACES: usize = 2;

pub struct Shared {
    pub memory: Arc<MemoryEngine>,
    /// The nodes share the places of the back end.
    pub has_shared_places: bool,
    pub holds: Arc<Holds>,
    /// Nothing goes wrong any more.
    pub calm: AtomicBool,
    pub post: Post,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    fenced: HashSet<NodeId>,
    /// Since when each place of the queue has been on record.
    queued: BTreeMap<QueueEntry, Instant>,
    /// The node that has taken each job last.
    taken: HashMap<JobId, NodeId>,
    ended: HashSet<JobId>,
    /// Nodes at which a back end works for each job.
    working: HashMap<JobId, Vec<NodeId>>,
    /// Nodes that are dead, whatever they still do.
    dead: HashSet<NodeId>,
    lines: Vec<String>,
    faults: Vec<String>,
    counts: BTreeMap<&'static str, u64>,
}

impl Shared {
    pub fn new(memory: Arc<MemoryEngine>, has_shared_places: bool) -> Self {
        Self {
            memory,
            has_shared_places,
            holds: Arc::default(),
            calm: AtomicBool::new(false),
            post: Post::default(),
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

    /// Is this node dead, or out of the others' reckoning?
    fn is_over(state: &State, node: NodeId) -> bool {
        state.dead.contains(&node) || state.fenced.contains(&node)
    }

    pub fn count(&self, what: &'static str) {
        *self.state.lock().counts.entry(what).or_default() += 1;
    }

    pub fn tell(&self, line: String) {
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

    /// A back end begins to work for a job.
    pub fn work_begins(&self, job: JobId, node: NodeId) {
        let mut state = self.state.lock();
        let others: Vec<NodeId> = state
            .working
            .get(&job)
            .into_iter()
            .flatten()
            .copied()
            .filter(|it| !Self::is_over(&state, *it))
            .collect();
        if !others.is_empty() && !Self::is_over(&state, node) {
            let text = format!("job {job} runs at {node} and at {others:?}");
            state.faults.push(text);
        }
        state.working.entry(job).or_default().push(node);
        let working = state.working.values().flatten();
        let working = working.filter(|it| !Self::is_over(&state, **it)).count();
        if self.has_shared_places && !Self::is_over(&state, node) {
            *state.counts.entry("runs in shared places").or_default() += 1;
            if working > PLACES {
                let text = format!("{working} runs at a back end with {PLACES} places");
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

    /// An attempt of a delivery begins.
    pub fn attempt_begins(&self, webhook: WebhookId, node: NodeId, id: DeliveryId) {
        let others = self.post.begin(webhook, node);
        let mut state = self.state.lock();
        state.lines.push(format!("{node} sends {id}"));
        if state.fenced.contains(&node) {
            let text = format!("{node} sends {id}, and was taken for dead before");
            state.faults.push(text);
        }
        let others: Vec<NodeId> = others
            .into_iter()
            .filter(|it| !Self::is_over(&state, *it))
            .collect();
        if !others.is_empty() && !Self::is_over(&state, node) {
            let text = format!("{node} sends to webhook {webhook}, and {others:?} does");
            state.faults.push(text);
        }
    }

    /// Holds a commit that becomes durable now against the rules.
    pub fn committed(&self, node: NodeId, writes: &[(Key, Option<Value>)]) {
        let now = Instant::now();
        let (faults, counts) = self.post.committed(writes);
        faults.into_iter().for_each(|it| self.fault(it));
        counts.into_iter().for_each(|it| self.count(it));
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
                    // The job has ended, which says nothing of its place.
                    None if !takes.contains(&place.job) => drop(state.queued.remove(&place)),
                    None => {
                        moved.push(place);
                        let was_queued = state.queued.remove(&place).is_some();
                        // A job that ended while a take was under way is found to have ended when its run would begin.
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
            let passed_over = state.queued.iter().find(|(other, since)| {
                (other.tier, other.class) == (place.tier, place.class)
                    && other.turn < place.turn
                    && now.duration_since(**since) > PASSED_OVER
            });
            if let Some((other, _)) = passed_over {
                let text = format!("{node} has taken {place:?} before {other:?}");
                state.lines.push(format!("FAULT {text}"));
                state.faults.push(text);
            }
        }
    }
}
