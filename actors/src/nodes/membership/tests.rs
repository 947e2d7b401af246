//! The ages of heartbeats, and the nodes that are declared dead because of them.

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

/// In milliseconds: when a node is dead, the gap, the age of the heartbeat before the gap, the earlier gaps, and the age after the
/// gap. A negative age is a time in the future.
#[rustfmt::skip]
const GAPS: [(u64, u64, u64, u32, i64); 14] = [
    // A short gap counts in full.
    (3_000,   1_500,  1_000, 0,  2_500),
    (3_000,   1_500,  1_000, 9,  2_500),
    // A long gap counts as one heartbeat interval ...
    (3_000,   2_000,      0, 0,    500),
    (30_000, 16_000,  4_000, 0,  4_500),
    (30_000, 40_000,  4_000, 0,  4_500),
    // ... and leaves the node time to reconnect: at least 2.5 s, or as long as the gap, at most 10 s.
    (3_000,   2_000,  2_900, 0,    500),
    (3_000,   4_000,  2_900, 0, -1_000),
    (3_000,  40_000,  2_900, 0, -7_000),
    (30_000, 16_000, 29_000, 0, 20_000),
    // The third long gap in a row does so too. Of the fourth, half of the time counts.
    (3_000,   2_000,      0, 2,    500),
    (3_000,   2_000,      0, 3,  1_500),
    (3_000,  40_000,      0, 3,  1_500),
    (3_000,   2_000,  1_000, 3,  2_500),
    (30_000, 16_000,  4_000, 3, 19_000),
];

#[test]
fn a_heartbeat_has_this_age_after_a_gap() {
    let millis = Duration::from_millis;
    let since = Instant::now() + Duration::from_secs(60);
    for row @ (dead_after, gap, age, gaps, expected) in GAPS {
        let last = LastBeat {
            beat: 7,
            since,
            gaps,
        };
        let looked = since + millis(age);
        let now = looked + millis(gap);
        let gap = LongGap::between(looked, now, millis(dead_after));
        let after = gap.map_or(since, |it| it.since(&last));
        let age = match after > now {
            true => -((after - now).as_millis() as i64),
            false => (now - after).as_millis() as i64,
        };
        assert_eq!(age, expected, "{row:?}");
    }
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
