//! Several nodes under one limit, with a manual clock.

use super::*;
use std::collections::HashMap;
use std::sync::Arc;

const RATE: RateLimit = RateLimit {
    per_second: 10,
    burst: 20,
};
const KEY: Uuid = Uuid::from_u128(1);

struct Nodes {
    all: Vec<Limiters<Uuid>>,
    millis: Arc<AtomicU64>,
    received: HashMap<usize, u64>,
}

impl Nodes {
    fn new(count: usize) -> Self {
        let millis = Arc::new(AtomicU64::new(0));
        let limiters = |_| {
            let shown = Arc::clone(&millis);
            Limiters::new(Arc::new(move || {
                Duration::from_millis(shown.load(Ordering::Relaxed))
            }))
        };
        Self {
            all: (0..count).map(limiters).collect(),
            millis,
            received: HashMap::new(),
        }
    }

    /// How many calls one node admits.
    fn call(&self, node: usize, calls: usize) -> u64 {
        let admits = || self.all[node].count(KEY, RATE).refused.is_none();
        (0..calls).filter(|_| admits()).count() as u64
    }

    fn advance(&self, millis: u64) {
        self.millis.fetch_add(millis, Ordering::Relaxed);
    }

    fn published(&self, node: usize) -> Option<u64> {
        let counts = self.all[node].counts(LimitKind::Key, |id| *id);
        counts.first().map(|it| it.admitted)
    }

    fn exchange(&mut self) {
        for node in 0..self.all.len() {
            let now = self.published(node).unwrap_or_default();
            let before = self.received.insert(node, now).unwrap_or_default();
            let calls = if now < before { now } else { now - before };
            for (other, limiters) in self.all.iter().enumerate() {
                if other != node {
                    limiters.charge(KEY, RATE, calls, Excess::BecomesDebt);
                }
            }
        }
    }
}

#[test]
fn a_limit_applies_to_all_nodes_together_in_the_long_run() {
    let mut nodes = Nodes::new(3);
    let mut admitted = 0;
    for _ in 0..400 {
        admitted += (0..3).map(|node| nodes.call(node, 10)).sum::<u64>();
        nodes.exchange();
        nodes.advance(250);
    }
    // 100 s at 10 calls a second plus one burst in total, not per node.
    assert!((1_000..=1_030).contains(&admitted), "{admitted}");
}

#[test]
fn a_burst_at_one_node_is_used_up_at_the_others() {
    let mut nodes = Nodes::new(2);
    assert_eq!(nodes.call(0, 30), 20);
    nodes.exchange();
    assert_eq!(nodes.call(1, 30), 0);
    nodes.advance(1_000);
    nodes.exchange();
    assert_eq!(nodes.call(1, 5), 5);
    nodes.exchange();
    assert_eq!(nodes.call(0, 30), 5);
}

#[test]
fn an_excess_delays_later_calls_and_is_included_in_retry_after() {
    let mut nodes = Nodes::new(2);
    assert_eq!((nodes.call(0, 30), nodes.call(1, 30)), (20, 20));
    nodes.exchange();
    let refused = nodes.all[0].count(KEY, RATE).refused;
    assert!(
        refused.is_some_and(|it| (2..=3).contains(&it)),
        "{refused:?}"
    );
    nodes.advance(1_900);
    nodes.exchange();
    assert_eq!(nodes.call(0, 5), 0);
    nodes.advance(300);
    assert_eq!(nodes.call(0, 5), 2);
}

#[test]
fn counts_are_published_from_a_quarter_of_the_burst_until_the_bucket_is_full() {
    let nodes = Nodes::new(1);
    assert_eq!(nodes.call(0, 4), 4);
    assert_eq!(nodes.published(0), None);
    assert_eq!(nodes.call(0, 1), 1);
    assert_eq!(nodes.published(0), Some(5));
    nodes.advance(400);
    assert_eq!(
        nodes.published(0),
        Some(5),
        "it is published until the bucket is full"
    );
    nodes.advance(200);
    assert_eq!(nodes.published(0), None);
    assert_eq!(nodes.call(0, 6), 6);
    assert_eq!(
        nodes.published(0),
        Some(6),
        "earlier calls are not published again"
    );
}
