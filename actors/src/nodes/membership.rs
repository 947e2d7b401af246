//! Membership: a node sends heartbeats, and takes over from nodes whose heartbeats have stopped.

use super::adoption::adopt;
use super::heartbeat::{Heartbeat, HeartbeatOutcome, Join};
use super::takeover::{DeclareDead, Departure, Requeue, RequeueOutcome};
use crate::node::{HEARTBEAT_INTERVAL, NodeContext, SeenNode};
use crate::process_context::ProcessContext;
use crate::queue::JobQueues;
use crate::round::decide;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tintype_storage::domain::ids::NodeId;
use tintype_storage::domain::node::Node;
use tintype_storage::engine::EngineError;
use tintype_storage::store::{Store, StoreError};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

/// A leaving node checks this often whether it has released its locks.
const LOCK_POLL: Duration = Duration::from_millis(20);
/// After an outage of the database, a living node sends a heartbeat within this time: its engine pauses for up to a third of
/// a second before it reconnects, and again if a commit was interrupted. The rest is for the connections.
const RECONNECT_TIME: Duration = Duration::from_millis(2_500);
/// Maximum reconnect time if packets were lost: TCP doubles the pauses between its retransmissions, so the next one may come as late
/// after the outage as the outage lasted.
const MAX_RECONNECT_TIME: Duration = Duration::from_secs(10);
/// How many outages in a row give a silent node the time to reconnect.
const MAX_SKIPS: u32 = 3;

pub struct Membership {
    pub node: Arc<NodeContext>,
    pub process: Arc<ProcessContext>,
    pub queues: Arc<JobQueues>,
}

/// The other nodes, as this node has seen them.
struct OtherNodes {
    last_beats: HashMap<NodeId, LastBeat>,
    looked: Instant,
}

/// The heartbeat counter of another node.
struct LastBeat {
    beat: u64,
    /// When the counter last changed, by this node's clock. [`skip_unseen_time`] moves it later by the time that this node did not
    /// observe, so it may be in the future.
    since: Instant,
    /// How often time was skipped since the counter last changed.
    skips: u32,
}

impl LastBeat {
    fn new(beat: u64, since: Instant) -> Self {
        Self {
            beat,
            since,
            skips: 0,
        }
    }
}

#[derive(Clone, Default)]
struct TakeoverCandidates {
    /// Nodes whose heartbeats have stopped, with their last counters.
    silent: Vec<(NodeId, u64)>,
    /// Nodes that are already declared dead. The node that declared them may have died before it requeued their jobs.
    dead: Vec<NodeId>,
}

impl Membership {
    /// Joins the nodes, and runs until it is aborted. Trips the fail-stop if another node has declared this one dead.
    pub async fn run(self) {
        if let Err(error) = self.participate().await {
            self.process.fail_stop.trip(error.to_string());
        }
    }

    async fn participate(&self) -> Result<(), StoreError> {
        adopt(&self.process.store).await?;
        self.node.mark_adopted();
        let own = self.node.id;
        let sent = Instant::now();
        let join = Join {
            node: own,
            process: self.node.process.clone(),
        };
        let nodes = decide(&self.process.store, join).await?;
        let others = OtherNodes::since(sent);
        // The process serves calls once it has joined, and lists the nodes from then on.
        self.node.set_nodes(others.seen_nodes(nodes, sent));
        self.node.confirm(sent);
        self.node.take.notify_one();
        let (reported, candidates) = watch::channel(TakeoverCandidates::default());
        // Concurrently: a takeover may wait for a record that a late node holds, and this node must send heartbeats meanwhile.
        tokio::select! {
            ended = self.send_heartbeats(others, reported) => ended,
            ended = self.take_over(candidates) => ended,
        }
    }

    /// Sends heartbeats, and watches those of the others.
    async fn send_heartbeats(
        &self,
        mut others: OtherNodes,
        candidates: watch::Sender<TakeoverCandidates>,
    ) -> Result<(), StoreError> {
        let own = self.node.id;
        loop {
            sleep(HEARTBEAT_INTERVAL).await;
            let sent = Instant::now();
            let heartbeat = Heartbeat {
                node: own,
                is_leaving: self.node.is_leaving(),
                running: self.queues.in_progress() as u64,
            };
            let nodes = match decide(&self.process.store, heartbeat).await? {
                HeartbeatOutcome::Alive(nodes) => nodes,
                HeartbeatOutcome::DeclaredDead => {
                    self.process.fail_stop.trip(EngineError::Fenced.to_string());
                    return Ok(());
                }
            };
            self.node.confirm(sent);
            let dead = nodes.iter().filter(|(_, node)| node.has_ended);
            let dead = dead.map(|(id, _)| *id).collect();
            let silent = others.observe(&nodes, own, self.node.dead_after);
            candidates.send_replace(TakeoverCandidates { silent, dead });
            self.node.set_nodes(others.seen_nodes(nodes, sent));
            // Looks for jobs that another node has queued.
            self.node.take.notify_one();
        }
    }

    async fn take_over(
        &self,
        mut candidates: watch::Receiver<TakeoverCandidates>,
    ) -> Result<(), StoreError> {
        while candidates.changed().await.is_ok() {
            let TakeoverCandidates { silent, dead } = candidates.borrow_and_update().clone();
            for (id, beat) in silent {
                self.declare_dead(id, beat).await?;
            }
            for id in dead {
                self.requeue_jobs(id).await?;
            }
        }
        Ok(())
    }

    async fn declare_dead(&self, dead: NodeId, beat: u64) -> Result<(), StoreError> {
        let by = self.node.id;
        if decide(&self.process.store, DeclareDead { dead, beat, by }).await? {
            tracing::warn!(node = %dead, "declared a node dead, because its heartbeats have stopped");
            let takeovers = &self.process.stats.nodes.takeovers;
            takeovers.fetch_add(1, Ordering::Relaxed);
            self.requeue_jobs(dead).await?;
        }
        Ok(())
    }

    async fn requeue_jobs(&self, dead: NodeId) -> Result<(), StoreError> {
        if let Some(jobs) = requeue_jobs(&self.process.store, dead, Departure::Dead).await? {
            tracing::info!(node = %dead, jobs, "the jobs of a dead node are queued again");
            let put_back = &self.process.stats.nodes.jobs_put_back;
            put_back.fetch_add(jobs as u64, Ordering::Relaxed);
            self.node.take.notify_one();
        }
        Ok(())
    }
}

/// Lets the jobs that a stopping node has taken and not finished go on at other nodes.
///
/// # Errors
/// The engine fails.
pub async fn return_jobs(store: &Store, node: NodeId) -> Result<(), StoreError> {
    requeue_jobs(store, node, Departure::Stopping)
        .await
        .map(drop)
}

/// Removes a node that takes no more jobs, once it holds no lock. The jobs that it still has go on at other nodes.
///
/// # Errors
/// The engine fails.
pub async fn leave(store: &Store, node: NodeId) -> Result<(), StoreError> {
    requeue_jobs(store, node, Departure::Leaving)
        .await
        .map(drop)
}

/// Returns the number of jobs that were queued again, or `None` if another node does it.
async fn requeue_jobs(
    store: &Store,
    node: NodeId,
    departure: Departure,
) -> Result<Option<usize>, StoreError> {
    let mut total = 0;
    loop {
        match decide(store, Requeue { node, departure }).await? {
            RequeueOutcome::Partial(jobs) => total += jobs,
            // The call in flight that holds the lock releases it soon.
            RequeueOutcome::CompleteButLocked(jobs) => {
                total += jobs;
                sleep(LOCK_POLL).await;
            }
            RequeueOutcome::Complete(jobs) => return Ok(Some(total + jobs)),
            RequeueOutcome::NotRequeued => return Ok(None),
        }
    }
}

impl OtherNodes {
    fn since(looked: Instant) -> Self {
        Self {
            last_beats: HashMap::new(),
            looked,
        }
    }

    /// Updates the heartbeats of the other nodes, and returns the nodes whose heartbeats have stopped for too long.
    fn observe(
        &mut self,
        nodes: &[(NodeId, Node)],
        own: NodeId,
        dead_after: Duration,
    ) -> Vec<(NodeId, u64)> {
        let now = Instant::now();
        let since = skip_unseen_time(&mut self.last_beats, now - self.looked, dead_after);
        self.looked = now;
        self.last_beats
            .retain(|id, _| nodes.iter().any(|(other, _)| other == id));
        let mut silent = Vec::new();
        for (id, node) in nodes.iter().filter(|(id, it)| *id != own && !it.has_ended) {
            let beat = node.beat;
            let last = self
                .last_beats
                .entry(*id)
                .or_insert_with(|| LastBeat::new(beat, since));
            if last.beat != beat {
                *last = LastBeat::new(beat, since);
            } else if now.duration_since(last.since) >= dead_after {
                silent.push((*id, beat));
            }
        }
        silent
    }

    fn seen_nodes(&self, nodes: Vec<(NodeId, Node)>, confirmed: Instant) -> Vec<SeenNode> {
        let seen = |(id, node)| SeenNode {
            id,
            node,
            since: self.last_beats.get(&id).map_or(confirmed, |it| it.since),
        };
        nodes.into_iter().map(seen).collect()
    }
}

/// Removes a long gap between two looks from the ages of the heartbeats: an outage of the database may have stopped the others too. A
/// gap of up to half of `dead_after` counts, so that takeovers continue while the database is slow. The other half is enough to
/// reconnect after such a short outage.
///
/// Outages may follow each other, so a silent node gets that time up to [`MAX_SKIPS`] times. Of each further gap, half of `dead_after`
/// counts: otherwise a database that is slow all the time would keep a dead node on record for ever.
///
/// Returns the time from which a heartbeat that this observation sees first counts. The heartbeat may have been sent before the gap.
fn skip_unseen_time(
    last_beats: &mut HashMap<NodeId, LastBeat>,
    gap: Duration,
    dead_after: Duration,
) -> Instant {
    let now = Instant::now();
    if gap <= dead_after / 2 {
        return now;
    }
    // The outage may have begun earlier for another node. So each node gets the time to reconnect, however old its heartbeat was.
    let reconnect = RECONNECT_TIME.max(gap.min(MAX_RECONNECT_TIME));
    let earliest = now + reconnect - dead_after;
    for last in last_beats.values_mut() {
        let seen = now - now.duration_since(last.since).saturating_sub(gap);
        last.since = match last.skips < MAX_SKIPS {
            true => earliest.max(seen - HEARTBEAT_INTERVAL),
            false => seen - dead_after / 2,
        };
        last.skips += 1;
    }
    now.max(earliest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tintype_storage::domain::node::NodeProcess;
    use uuid::Uuid;

    const DEAD_AFTER: Duration = Duration::from_secs(3);
    const SECOND: Duration = Duration::from_secs(1);

    fn node(number: u128, beat: u64) -> (NodeId, Node) {
        let node = Node {
            beat,
            ..Node::new(NodeProcess::default())
        };
        (NodeId(Uuid::from_u128(number)), node)
    }

    #[tokio::test(start_paused = true)]
    async fn the_observers_clock_measures_the_age_of_a_heartbeat() {
        let (own, other) = (node(1, 0), node(2, 7));
        let mut others = OtherNodes::since(Instant::now());
        let mut look = |nodes: &[(NodeId, Node)]| {
            let silent = others.observe(nodes, own.0, DEAD_AFTER);
            let ages = others.seen_nodes(nodes.to_vec(), Instant::now());
            let ages: Vec<u64> = ages.iter().map(|it| it.since.elapsed().as_secs()).collect();
            (silent, ages)
        };
        assert_eq!(look(&[own.clone(), other.clone()]), (vec![], vec![0, 0]));
        for age in 1..3 {
            tokio::time::advance(SECOND).await;
            assert_eq!(look(&[own.clone(), other.clone()]), (vec![], vec![0, age]));
        }
        tokio::time::advance(SECOND).await;
        let silent = vec![(other.0, 7)];
        assert_eq!(look(&[own.clone(), other]), (silent, vec![0, 3]));
        assert_eq!(look(&[own.clone(), node(2, 8)]), (vec![], vec![0, 0]));
    }

    /// The age of a heartbeat after a gap, if it was `age` before.
    async fn age_after(age: Duration, gap: Duration, dead_after: Duration) -> Duration {
        let (other, since) = (node(2, 7).0, Instant::now());
        let mut others = HashMap::from([(other, LastBeat::new(7, since))]);
        tokio::time::advance(age + gap).await;
        skip_unseen_time(&mut others, gap, dead_after);
        others[&other].since.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_short_gap_counts_in_full() {
        let gap = DEAD_AFTER / 2;
        assert_eq!(age_after(SECOND, gap, DEAD_AFTER).await, SECOND + gap);
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_gap_between_observations_counts_as_one_heartbeat_interval() {
        for gap in [16 * SECOND, 40 * SECOND] {
            let age = age_after(4 * SECOND, gap, 30 * SECOND).await;
            assert_eq!(age, 4 * SECOND + HEARTBEAT_INTERVAL);
        }
        let gap = DEAD_AFTER / 2 + HEARTBEAT_INTERVAL;
        let age = age_after(Duration::ZERO, gap, DEAD_AFTER).await;
        assert_eq!(age, HEARTBEAT_INTERVAL);
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_gap_leaves_the_others_time_to_reconnect() {
        for (gap, reconnect) in [(2, RECONNECT_TIME), (6, 6 * SECOND), (40, 10 * SECOND)] {
            let (own, nodes) = (node(1, 0).0, [node(2, 7)]);
            let mut others = OtherNodes::since(Instant::now());
            let mut silent = others.observe(&nodes, own, DEAD_AFTER);
            tokio::time::advance(gap * SECOND).await;
            let reconnects = Instant::now();
            while silent.is_empty() {
                silent = others.observe(&nodes, own, DEAD_AFTER);
                tokio::time::advance(HEARTBEAT_INTERVAL).await;
            }
            let waited = reconnects.elapsed() - HEARTBEAT_INTERVAL;
            assert_eq!(waited, reconnect, "after {gap} s");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_dead_node_is_detected_even_if_the_database_is_always_slow() {
        for gaps in [[1_600, 1_600], [1_600, 600], [4_000, 1_400]] {
            let mut others = OtherNodes::since(Instant::now());
            let nodes = [node(2, 7)];
            let mut look = || others.observe(&nodes, node(1, 0).0, DEAD_AFTER);
            look();
            let mut looks = 0;
            loop {
                looks += 1;
                tokio::time::advance(Duration::from_millis(gaps[looks % 2])).await;
                if !look().is_empty() {
                    break;
                }
                assert!(looks < 12, "after {looks} looks, {gaps:?}");
            }
        }
    }

    /// An outage of the database, for a node that looks at another one. Times are since the first look.
    struct Outage {
        begins: Duration,
        ends: Duration,
        /// The last heartbeat of the other node.
        last_beat: Duration,
        next_beat: Option<Duration>,
    }

    impl Outage {
        /// When the other node is declared dead.
        async fn declares_dead(&self) -> Option<Duration> {
            let began = Instant::now();
            let mut others = OtherNodes::since(began);
            while began.elapsed() < self.ends + DEAD_AFTER + MAX_RECONNECT_TIME {
                let nodes = [node(2, self.beats(began.elapsed()))];
                if !others.observe(&nodes, node(1, 0).0, DEAD_AFTER).is_empty() {
                    return Some(began.elapsed());
                }
                sleep(HEARTBEAT_INTERVAL).await;
                if (self.begins..self.ends).contains(&began.elapsed()) {
                    tokio::time::sleep_until(began + self.ends).await;
                }
            }
            None
        }

        /// The heartbeats of the other node up to a moment.
        fn beats(&self, at: Duration) -> u64 {
            let interval = HEARTBEAT_INTERVAL.as_millis() as u64;
            let every = |span: Duration| 1 + span.as_millis() as u64 / interval;
            let first = Duration::from_millis(self.last_beat.as_millis() as u64 % interval);
            let before = at.min(self.last_beat).checked_sub(first);
            let after = self.next_beat.and_then(|it| at.checked_sub(it));
            before.map_or(0, every) + after.map_or(0, every)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_living_node_that_the_same_outage_stalls_is_not_declared_dead() {
        for tenths in 1..80 {
            let lasts = tenths * SECOND / 10;
            // Pauses grow with the outage. Only a longer outage can have begun much earlier for the other node.
            let pause = lasts.max(2 * SECOND);
            let pauses = match lasts > DEAD_AFTER / 2 {
                true => [(Duration::ZERO, pause), (SECOND, pause)],
                false => [(Duration::ZERO, lasts.min(SECOND)); 2],
            };
            for ((earlier, pause), phase) in pauses
                .into_iter()
                .flat_map(|it| (0..10).map(move |at| (it, at)))
            {
                let begins = 10 * SECOND + phase * SECOND / 20;
                let ends = begins + lasts;
                let outage = Outage {
                    begins,
                    ends,
                    last_beat: begins - earlier,
                    next_beat: Some(ends + pause),
                };
                let dead = outage.declares_dead().await;
                assert_eq!(
                    dead, None,
                    "after {lasts:?}, {earlier:?} earlier, phase {phase}"
                );
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_node_that_dies_while_its_observer_stalls_is_declared_dead() {
        for (tenths, phase) in (1..80).flat_map(|it| (0..10).map(move |phase| (it, phase))) {
            let lasts = tenths * SECOND / 10;
            let begins = 10 * SECOND + phase * SECOND / 20;
            let outage = Outage {
                begins,
                ends: begins + lasts,
                last_beat: begins,
                next_beat: None,
            };
            let after = outage.declares_dead().await.expect("dead") - begins;
            let gap = lasts + HEARTBEAT_INTERVAL;
            assert!(
                (DEAD_AFTER..=DEAD_AFTER.max(gap) + gap).contains(&after),
                "{after:?} after {lasts:?}"
            );
        }
    }
}
