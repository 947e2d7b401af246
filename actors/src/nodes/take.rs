//! Takes: a node with free slots moves the next jobs of the shared queue to itself.
//!
//! The record of the turns that a tier has served is held from before the reads to the commit, so takes are one after the other over
//! all nodes: no job is taken twice, and none passed over.

use super::places::PlaceAsks;
use crate::dispatch::DispatchContext;
use crate::fail_stop::FailStop;
use crate::node::{NodeContext, Taking};
use crate::queue::{Lane, QueueChange, QueuedJob};
use crate::round::{Decided, Decision, decide, value_of};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tintype_storage::domain::ids::{JobId, NodeId};
use tintype_storage::domain::node::TakenJob;
use tintype_storage::domain::queue_place::{QueueClass, QueuePlace};
use tintype_storage::domain::tier::Tier;
use tintype_storage::engine::{Ask, Direction, Key, Seen};
use tintype_storage::store::tables::{NODES, PAUSE, QUEUE, SERVED_TURNS, TAKEN_JOBS};
use tintype_storage::store::{Store, StoreError, Writes};
use tokio::time::{Instant, timeout};

/// The queue is looked at this often, since other nodes put jobs into it.
const POLL: Duration = Duration::from_millis(250);
/// An acceptance that has read the served turns before a take, and commits after it, is below them. A take that looks from the
/// first place on finds it.
const LOOK_FROM_FIRST: Duration = Duration::from_secs(1);
/// Jobs that one round takes.
const MOST: usize = 64;

/// When a take has found all places of a tier that are below the turns served, for single jobs and for those of batches.
#[derive(Clone, Copy, Default)]
struct Looked([Option<Instant>; 2]);

/// The classes whose turns rise.
const IN_TURN: [QueueClass; 2] = [QueueClass::Single, QueueClass::Batch];

/// Takes jobs for the dispatcher of this node.
pub struct Taker {
    pub node: Arc<NodeContext>,
    pub store: Store,
    pub dispatch: Arc<DispatchContext>,
    pub fail_stop: FailStop,
}

impl Taker {
    /// Runs until it is aborted.
    pub async fn run(self) {
        let mut looked = [Looked::default(); 3];
        loop {
            let _ = timeout(POLL, self.node.take.notified()).await;
            // Held during the takes.
            let taking = self.node.taking.lock().await;
            let takes = *taking == Taking::Yes;
            if !self.node.is_trusted() {
                continue;
            }
            for tier in Tier::ALL {
                let looked = &mut looked[tier.index()];
                if let Err(error) = self.take(*tier, takes, looked).await {
                    return self.fail_stop.trip(error.to_string());
                }
            }
        }
    }

    /// Takes what there are slots for, and gives the places of shared back ends back that are not used. A node that leaves takes no more,
    /// but its runs may still fail over.
    async fn take(&self, tier: Tier, takes: bool, looked: &mut Looked) -> Result<(), StoreError> {
        loop {
            let DispatchContext { queues, pool, .. } = &*self.dispatch;
            let now = Instant::now();
            let waiting = if takes { queues.waiting() } else { [0; 3] };
            let own = if takes { pool.own_slots(tier, now) } else { 0 };
            // Jobs of all tiers may wait for the same slots.
            let own = own.saturating_sub(waiting.iter().sum());
            let places = PlaceAsks(pool.spare_places(tier, waiting, now));
            if own == 0 && !places.are_worth_a_round(takes) {
                return Ok(());
            }
            let is_due =
                |at: Option<Instant>| at.is_none_or(|at| now.duration_since(at) >= LOOK_FROM_FIRST);
            let from_first = looked.0.map(is_due);
            let take = Take {
                node: self.node.id,
                tier,
                own,
                places,
                takes,
                from_first,
            };
            let Taken {
                jobs,
                most,
                places,
                found_all,
                changes,
            } = decide(&self.store, take).await?;
            let has_places = places.iter().any(|(_, places)| *places > 0);
            for (backend, places) in places {
                pool.add_places(backend, places);
            }
            if has_places {
                queues.wake();
            }
            if let Some(queue) = &self.dispatch.accounts.context().shared_queue {
                queue.apply(changes, queues.turns());
            }
            for (at, looked) in looked.0.iter_mut().enumerate() {
                if from_first[at] && found_all[at] {
                    *looked = Some(now);
                }
            }
            let count = jobs.len();
            for (job, taken) in jobs {
                let TakenJob {
                    account,
                    tier,
                    class,
                } = taken;
                let (lane, is_resumed) = match class {
                    QueueClass::Resumed => (Lane::Single, true),
                    QueueClass::Single => (Lane::Single, false),
                    QueueClass::Batch => (Lane::Batch, false),
                };
                let job = QueuedJob {
                    job,
                    account,
                    tier,
                    lane,
                };
                match is_resumed {
                    true => queues.push_begun(job),
                    false => drop(queues.push_all([job])),
                }
            }
            if count > 0 {
                queues.wake();
                let stats = &self.dispatch.stats.nodes;
                stats.takes.fetch_add(1, Ordering::Relaxed);
                stats.jobs_taken.fetch_add(count as u64, Ordering::Relaxed);
            }
            if count < most || most == 0 {
                return Ok(());
            }
        }
    }
}

struct Take {
    node: NodeId,
    tier: Tier,
    /// Jobs that there are slots for at back ends that are not shared.
    own: usize,
    places: PlaceAsks,
    /// Otherwise only places are taken and given back.
    takes: bool,
    /// From the first place of a class on, not from the turn that was served last.
    from_first: [bool; 2],
}

/// What was taken.
#[derive(Default)]
struct Taken {
    jobs: Vec<(JobId, TakenJob)>,
    /// How many jobs there were slots for.
    most: usize,
    /// Places of shared back ends, by the index of the back end.
    places: Vec<(usize, usize)>,
    /// Has it taken all places of a class below the turn that was served last, of those that it has looked at?
    found_all: [bool; 2],
    changes: Vec<QueueChange>,
}

impl Decision for Take {
    type Outcome = Taken;

    fn holds(&self) -> Vec<Key> {
        let mut holds = vec![SERVED_TURNS.key(&self.tier)];
        holds.extend(self.places.holds());
        holds
    }

    fn needs(&self) -> Vec<Ask> {
        let mut needs = vec![
            Ask::Get(SERVED_TURNS.key(&self.tier)),
            Ask::Get(NODES.key(&self.node)),
            Ask::Get(PAUSE.key(&())),
        ];
        needs.extend(self.places.needs());
        needs
    }

    fn decide(&self, seen: &Seen) -> Result<Decided<Self::Outcome>, StoreError> {
        let served = value_of(seen, &SERVED_TURNS.key(&self.tier), |it| {
            SERVED_TURNS.decode(it)
        })?;
        let mut served = served.unwrap_or_default();
        let own = value_of(seen, &NODES.key(&self.node), |it| NODES.decode(it))?;
        let pause = value_of(seen, &PAUSE.key(&()), |it| PAUSE.decode(it))?;
        if own.is_none_or(|it| it.has_ended) {
            return Ok(Decided::Write(Writes::new(), Taken::default()));
        }
        let takes = self.takes && !pause.is_some_and(|it| it.covers(self.tier));
        let mut places = self.places.settle(self.node, seen)?;
        let most = match takes {
            true => (self.own + places.free()).min(MOST),
            false => 0,
        };
        if most == 0 {
            let nothing = Taken {
                places: places.granted(),
                ..Taken::default()
            };
            return Ok(Decided::Write(places.writes(), nothing));
        }
        let scans = QueueClass::ALL.map(|class| self.scan(class, served.of(class), most));
        let unread: Vec<Ask> = scans
            .iter()
            .filter(|scan| seen.pairs(scan).is_none())
            .cloned()
            .collect();
        if !unread.is_empty() {
            return Ok(Decided::Ask(unread));
        }
        let before = served;
        let (mut writes, mut jobs, mut taken) = (Writes::new(), Vec::new(), Vec::new());
        let waiting = scans.iter().filter_map(|scan| seen.pairs(scan)).flatten();
        for (key, value) in waiting.take(most) {
            let Some((place, account)) = QUEUE.entry(key, value)? else {
                continue;
            };
            let QueuePlace {
                tier, class, turn, ..
            } = place;
            let job = TakenJob {
                account,
                tier,
                class,
            };
            served.raise(class, turn);
            writes.push((key.clone(), None));
            writes.push(TAKEN_JOBS.put(&(self.node, place.job), &job));
            jobs.push((place.job, job));
            taken.push(place);
        }
        if !jobs.is_empty() {
            writes.push(SERVED_TURNS.put(&self.tier, &served));
        }
        places.take(jobs.len());
        writes.extend(places.writes());
        let found_all = IN_TURN.map(|class| {
            let is_beyond = |it: &QueuePlace| {
                it.class > class || it.class == class && it.turn >= before.of(class)
            };
            taken.len() < most || taken.iter().any(is_beyond)
        });
        let changes = QueueChange::of(&writes)?;
        let taken = Taken {
            jobs,
            most,
            places: places.granted(),
            found_all,
            changes,
        };
        Ok(Decided::Write(writes, taken))
    }
}

impl Take {
    fn scan(&self, class: QueueClass, served: u64, most: usize) -> Ask {
        let mut range = QUEUE.range(&(self.tier, class));
        let from_first = IN_TURN
            .iter()
            .zip(self.from_first)
            .any(|(it, from_first)| *it == class && from_first);
        if class != QueueClass::Resumed && !from_first {
            let first = QueuePlace {
                tier: self.tier,
                class,
                turn: served,
                job: JobId(uuid::Uuid::nil()),
            };
            range = range.starting_at(QUEUE.key(&first));
        }
        Ask::Scan(range, Direction::Rising, most)
    }
}
