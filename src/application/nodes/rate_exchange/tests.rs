//! Nodes that join and leave while they exchange their counts, with a clock that stands still.

use super::*;
use crate::application::limits::damaged_inputs::DamagedInputs;
use crate::application::limits::rate_limit::Elapsed;
use crate::config::Limits;
use std::sync::Arc;
use tintype_storage::domain::api_key::RateLimit;
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::node::NodeProcess;
use tintype_storage::engine::commit_and_wait;
use tintype_storage::testing::stalled::StalledEngine;

const ACCOUNT: AccountId = AccountId(Uuid::from_u128(1));
const RATE: RateLimit = RateLimit {
    per_second: 10,
    burst: 20,
};

struct OneNode {
    store: Store,
    exchange: RateExchange,
    limits: CallLimits,
}

impl OneNode {
    fn join(store: &Store, number: u128) -> Self {
        let id = NodeId(Uuid::from_u128(number));
        let elapsed: Elapsed = Arc::new(|| Duration::ZERO);
        let limits = Limits {
            requests_per_second: 0,
            burst: 0,
            fetches_per_second: 0,
            fetch_burst: 0,
            ingest_bytes: 1 << 24,
            waiting_calls_per_account: 1,
        };
        let limits = CallLimits::new(&limits, Arc::new(DamagedInputs::new(&elapsed)), &elapsed);
        let node = Self {
            store: store.clone(),
            exchange: RateExchange::new(id),
            limits,
        };
        node.record(Node::new(NodeProcess::default()));
        node
    }

    fn record(&self, node: Node) {
        let put = NODES.put(&self.exchange.node, &node);
        commit_and_wait(&**self.store.engine(), vec![put]).expect("a commit");
    }

    fn forget(&self) {
        let delete = NODES.delete(&self.exchange.node);
        commit_and_wait(&**self.store.engine(), vec![delete]).expect("a commit");
    }

    async fn exchange(&mut self) {
        let exchanged = self.exchange.exchange(&self.store, &self.limits).await;
        exchanged.expect("the store works");
    }

    /// How many calls the node admits.
    fn call(&self, calls: usize) -> usize {
        let is_admitted = || {
            let state = self.limits.accounts.count(ACCOUNT, RATE);
            state.check("it", "calls").is_ok()
        };
        (0..calls).filter(|_| is_admitted()).count()
    }

    /// How long the node tells a caller to wait.
    fn retry_after(&self) -> Option<u32> {
        let state = self.limits.accounts.count(ACCOUNT, RATE);
        state.check("it", "calls").err()?.retry_after
    }
}

/// Two nodes whose bursts are used up.
async fn busy_nodes() -> (Store, [OneNode; 2]) {
    let store = Store::new(StalledEngine::in_memory());
    let mut nodes = [1, 2].map(|number| OneNode::join(&store, number));
    for node in &mut nodes {
        assert_eq!(node.call(30), 20);
        node.exchange().await;
    }
    (store, nodes)
}

#[tokio::test]
async fn a_node_that_joins_later_has_no_debt() {
    let (store, [mut one, _other]) = busy_nodes().await;
    let mut late = OneNode::join(&store, 3);
    late.exchange().await;
    assert_eq!(late.call(1), 0, "the living nodes have used the burst");
    assert_eq!(late.retry_after(), Some(1));
    one.exchange().await;
    assert_eq!(one.retry_after(), Some(3), "the other burst is a debt");
}

#[tokio::test]
async fn a_node_that_joins_later_ignores_nodes_that_have_left_or_died() {
    let (store, [one, other]) = busy_nodes().await;
    one.forget();
    other.record(Node {
        has_ended: true,
        ..Node::new(NodeProcess::default())
    });
    let mut late = OneNode::join(&store, 3);
    late.exchange().await;
    assert_eq!(late.call(30), 20);
}

#[tokio::test]
async fn a_stopping_node_withdraws_its_counts() {
    let (store, [mut one, mut other]) = busy_nodes().await;
    for node in [&mut one, &mut other] {
        node.exchange.withdraw(&store).await.expect("it works");
    }
    let mut late = OneNode::join(&store, 3);
    late.exchange().await;
    assert_eq!(late.call(30), 20);
}
