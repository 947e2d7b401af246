//! Tests of the shards that one of several nodes reports as busy.

use super::*;
use crate::delivery::{DeliveryLimits, DeliveryOptions};
use crate::fail_stop::FailStop;
use crate::node::NodeContext;
use crate::ports::Transport;
use crate::process_context::ProcessContext;
use crate::stats::Stats;
use crate::world::{A, fresh, run, settle, until};
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use std::sync::atomic::{AtomicUsize, Ordering};
use tintype_storage::domain::delivery::DeliveryKind;
use tintype_storage::domain::ids::{IdSource, NodeId};
use tintype_storage::domain::shard::Shard;
use tintype_storage::domain::webhook::SealedSecret;
use tintype_storage::engine::{Engine, Wait as _, commit_and_wait};
use tintype_storage::store::Store;
use tintype_storage::testing::stalled::StalledEngine;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;
use uuid::Uuid;

const NOW: Timestamp = Timestamp::EPOCH;

/// Ends an attempt when the test says so.
#[derive(Default)]
struct HeldTransport {
    begun: AtomicUsize,
    end: Arc<Notify>,
}

impl Transport for HeldTransport {
    fn attempt(&self, delivery: Delivery, _: Webhook) -> LocalBoxFuture<'static, AttemptOutcome> {
        self.begun.fetch_add(1, Ordering::SeqCst);
        let end = Arc::clone(&self.end);
        async move {
            end.notified().await;
            let attempt = Attempt::broken(delivery.round, NOW, Duration::ZERO, "no answer");
            AttemptOutcome::Made(attempt)
        }
        .boxed_local()
    }
}

fn start(store: Store, transport: Arc<HeldTransport>) -> Addr<DeliveryActor> {
    let node = NodeContext::new(NodeId(Uuid::nil()), Duration::from_secs(3_600));
    node.confirm(Instant::now());
    let context = DeliveryContext {
        process: Arc::new(ProcessContext {
            store,
            clock: Arc::new(|| NOW),
            ids: Arc::new(IdSource::new(NOW)),
            operator: None,
            stats: Arc::new(Stats::new(0, NOW)),
            durable_pause: Arc::default(),
            durable_backend_pauses: Arc::default(),
            observer: None,
            fail_stop: FailStop::new(),
            node: Some(Arc::new(node)),
        }),
        options: DeliveryOptions {
            transport,
            retry_delays: Vec::new(),
            limits: DeliveryLimits {
                total: 1,
                per_receiver: 1,
            },
        },
    };
    DeliveryActor::create(|ctx| DeliveryActor::new(Arc::new(context), ctx.address()))
}

async fn hold(actor: &Addr<DeliveryActor>, shards: HashSet<Shard>) -> HashSet<Shard> {
    let (reply, busy) = oneshot::channel();
    actor.do_send(DeliveryCommand::Hold { shards, reply });
    busy.await.expect("an answer")
}

#[test]
fn a_shard_is_busy_until_an_attempt_that_ended_during_a_redelivery_is_recorded() {
    run(async {
        let engine = Arc::new(StalledEngine::new(fresh("100")));
        let store = Store::new(Arc::clone(&engine) as Arc<dyn Engine>);
        let id = WebhookId(Uuid::from_u128(1));
        let webhook = Webhook::new(id, A, "http://127.0.0.1/", SealedSecret(Vec::new()), NOW);
        let id = DeliveryId(Uuid::from_u128(2));
        let delivery = Delivery::new(id, &webhook, DeliveryKind::Test, Uuid::nil(), NOW);
        let mut writes = store.put_webhook(&webhook);
        writes.extend(store.add_delivery(&delivery));
        commit_and_wait(&*engine, writes).expect("stored");
        let transport = Arc::new(HeldTransport::default());
        let actor = start(store.clone(), Arc::clone(&transport));
        let shard = HashSet::from([Shard::of(webhook.id)]);
        hold(&actor, shard.clone()).await;
        until("an attempt is in flight", || {
            transport.begun.load(Ordering::SeqCst) == 1
        })
        .await;
        assert_eq!(hold(&actor, HashSet::new()).await, shard, "in flight");

        engine.hold();
        let (reply, redelivered) = oneshot::channel();
        actor.do_send(DeliveryCommand::Redeliver {
            id,
            to_entry: None,
            reply,
        });
        until("the redelivery commits", || engine.held() == 1).await;
        transport.end.notify_one();
        settle().await;
        assert_eq!(hold(&actor, HashSet::new()).await, shard, "deferred");

        engine.release_one();
        redelivered.await.expect("an answer").expect("redelivered");
        until("the attempt is being recorded", || engine.held() == 1).await;
        assert_eq!(hold(&actor, HashSet::new()).await, shard, "being recorded");

        engine.open();
        settle().await;
        assert_eq!(store.attempts(id).wait().expect("readable").len(), 1);
        assert_eq!(hold(&actor, HashSet::new()).await, HashSet::new());
    });
}
