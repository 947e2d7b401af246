//! The webhooks of the accounts, the deliveries that their receivers get from each node, and the rules of deliveries.

use super::scenario::World;
use super::shared::SharedState;
use crate::rng::Rng;
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tintype_actors::clock::Clock;
use tintype_actors::delivery::DeliveryCommand;
use tintype_actors::ports::{AttemptOutcome, Transport};
use tintype_storage::domain::delivery::{Attempt, Delivery, DeliveryId, DeliveryState};
use tintype_storage::domain::ids::{AccountId, NodeId};
use tintype_storage::domain::job::{Callback, Origin};
use tintype_storage::domain::shard::Shard;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::{SealedSecret, Webhook, WebhookId};
use tintype_storage::engine::{Key, Value, Wait as _};
use tintype_storage::store::tables::{ATTEMPTS, DELIVERIES, NODES, SHARD_HOLDERS};
use tintype_storage::store::{All, Store, Writes};
use tokio::sync::oneshot;
use tokio::time::sleep;
use uuid::Uuid;

/// Webhooks per account.
const WEBHOOKS: u64 = 4;
/// The delays before retries, in seconds.
pub const RETRIES: [u64; 3] = [1, 2, 4];

/// The deliveries that receivers got, and the records of their attempts.
#[derive(Default)]
pub struct ReceiverLog(Mutex<State>);

#[derive(Default)]
struct State {
    /// The nodes that send to each receiver.
    sending: HashMap<WebhookId, Vec<NodeId>>,
    /// Deliveries that a receiver has accepted.
    taken: HashSet<DeliveryId>,
    /// Recorded attempts.
    recorded: HashSet<(DeliveryId, u32)>,
    /// Acknowledged redeliveries of each delivery.
    sent_again: HashMap<DeliveryId, u32>,
}

impl ReceiverLog {
    /// Begins an attempt. Returns the other nodes that send to the receiver.
    pub fn begin(&self, webhook: WebhookId, node: NodeId) -> Vec<NodeId> {
        let mut state = self.0.lock();
        let sending = state.sending.entry(webhook).or_default();
        let others = sending.iter().copied().filter(|it| *it != node).collect();
        sending.push(node);
        others
    }

    fn end(&self, webhook: WebhookId, node: NodeId) {
        let mut state = self.0.lock();
        if let Some(nodes) = state.sending.get_mut(&webhook)
            && let Some(at) = nodes.iter().position(|it| *it == node)
        {
            nodes.remove(at);
        }
    }

    /// Checks a durable commit. Returns its faults and events.
    pub fn committed(&self, writes: &[(Key, Option<Value>)]) -> (Vec<String>, Vec<&'static str>) {
        let (mut faults, mut counts) = (Vec::new(), Vec::new());
        for (key, value) in writes {
            if let (Some((id, number)), Some(_)) = (ATTEMPTS.read_key(key), value)
                && !self.0.lock().recorded.insert((id, number))
            {
                faults.push(format!("attempt {number} of delivery {id} is overwritten"));
            }
            if SHARD_HOLDERS.read_key(key).is_some() {
                counts.push("shards moved");
            }
        }
        (faults, counts)
    }
}

pub fn webhooks(account: AccountId, at: Timestamp) -> Vec<Webhook> {
    let webhook = |number: u64| {
        Webhook::new(
            WebhookId(Uuid::from_u128(
                account.0.as_u128() * 256 + u128::from(number),
            )),
            account,
            url(number),
            SealedSecret(Vec::new()),
            at,
        )
    };
    (0..WEBHOOKS).map(webhook).collect()
}

fn url(number: u64) -> String {
    format!("https://it/{number}")
}

/// A random webhook of an account, or none.
pub fn callback(account: AccountId, rng: &Rng) -> Option<Callback> {
    let number = rng.below(WEBHOOKS + 1);
    let webhook = webhooks(account, Timestamp::from_millis(0));
    let webhook = webhook.get(usize::try_from(number).ok()?)?;
    Some(Callback {
        webhook: webhook.id,
        url: webhook.url.clone(),
    })
}

/// The transport of a node. Receivers fail at random, except in the calm phase.
pub struct NodeTransport {
    pub node: NodeId,
    pub clock: Clock,
    pub shared: Arc<SharedState>,
    pub rng: Rng,
}

/// An attempt in flight.
struct Sending {
    webhook: WebhookId,
    node: NodeId,
    shared: Arc<SharedState>,
}

impl Drop for Sending {
    fn drop(&mut self) {
        self.shared.receivers.end(self.webhook, self.node);
    }
}

impl Transport for NodeTransport {
    fn attempt(
        &self,
        delivery: Delivery,
        webhook: Webhook,
    ) -> LocalBoxFuture<'static, AttemptOutcome> {
        let (node, shared) = (self.node, Arc::clone(&self.shared));
        let is_calm = shared.is_calm();
        let took = match self.rng.one_in(6) && !is_calm {
            true => self.rng.millis(500, 6_000),
            false => self.rng.millis(1, 300),
        };
        let (fails, is_not_sent) = (
            self.rng.one_in(2) && !is_calm,
            self.rng.one_in(40) && !is_calm,
        );
        let at = (self.clock)();
        shared.attempt_begins(webhook.id, node, delivery.id);
        async move {
            let _sending = Sending {
                webhook: webhook.id,
                node,
                shared: Arc::clone(&shared),
            };
            sleep(took).await;
            if is_not_sent {
                return AttemptOutcome::NotSent("an injected failure of the service".into());
            }
            AttemptOutcome::Made(match fails {
                true => Attempt::broken(delivery.round, at, took, "an injected failure"),
                false => {
                    shared.count("deliveries received");
                    shared.receivers.0.lock().taken.insert(delivery.id);
                    Attempt::responded(delivery.round, at, took, 200, b"", None)
                }
            })
        }
        .boxed_local()
    }
}

impl World {
    /// Redelivers a random delivery, from any node.
    pub fn redeliver(&self, at: usize) {
        let jobs = self.acknowledged.lock().jobs.clone();
        let Some((_, job)) = self.rng.pick(&jobs) else {
            return;
        };
        let id = DeliveryId(job.0);
        let (reply, answer) = oneshot::channel();
        let command = DeliveryCommand::Redeliver {
            id,
            to_entry: None,
            reply,
        };
        self.nodes[at].system.deliveries().do_send(command);
        let shared = Arc::clone(&self.shared);
        actix::spawn(async move {
            if let Ok(Ok(_)) = answer.await {
                shared.count("deliveries sent again");
                *shared.receivers.0.lock().sent_again.entry(id).or_default() += 1;
            }
        });
    }

    /// Checks that every ended job has its delivery, and that the records match the attempts.
    pub fn check_deliveries(&self, store: &Store) {
        let fault = |text| self.shared.fault(text);
        let state = self.shared.receivers.0.lock();
        let mut numbers: HashMap<DeliveryId, u32> = HashMap::new();
        for (id, _) in &state.recorded {
            *numbers.entry(*id).or_default() += 1;
        }
        let checked = DELIVERIES.each(store, &All, |_, delivery| {
            let id = delivery.id;
            match delivery.state {
                DeliveryState::Pending { due, .. } => fault(format!("{id} is due since {due}")),
                DeliveryState::Delivered { .. } if !state.taken.contains(&id) => {
                    fault(format!(
                        "{id} is recorded as delivered, but its receiver has not accepted it"
                    ));
                }
                DeliveryState::Delivered { .. } => {}
                DeliveryState::Failed { .. } => self.shared.count("deliveries given up"),
            }
            let recorded = numbers.get(&id).copied().unwrap_or_default();
            if recorded != delivery.attempts {
                let attempts = delivery.attempts;
                fault(format!(
                    "{id} has {attempts} attempts; {recorded} were recorded"
                ));
            }
            let again = state.sent_again.get(&id).copied().unwrap_or_default();
            if delivery.round < again {
                fault(format!(
                    "{id} was redelivered {again} times, but is in round {}",
                    delivery.round
                ));
            }
            Ok(())
        });
        checked.wait().expect("readable");
        let acknowledged = self.acknowledged.lock();
        for (account, job) in &acknowledged.jobs {
            let delivery = store.delivery(DeliveryId(job.0)).wait().expect("readable");
            let of = store.job(*account, *job).wait().expect("readable");
            if delivery.is_none() && of.is_some_and(|it| it.origin == Origin::Native) {
                fault(format!("job {job} has no delivery"));
            }
        }
        for shard in Shard::all() {
            let holder = SHARD_HOLDERS.get(store, &shard).wait().expect("readable");
            let node = holder.and_then(|it| it.0);
            let node = node.and_then(|it| NODES.get(store, &it).wait().expect("readable"));
            if node.is_none_or(|it| it.has_ended) {
                fault(format!("{shard:?} is held by {holder:?}"));
            }
        }
    }
}

/// The writes that register the webhooks of an account.
pub fn registered(store: &Store, account: AccountId, at: Timestamp) -> Writes {
    let webhooks = webhooks(account, at);
    webhooks
        .iter()
        .flat_map(|it| store.put_webhook(it))
        .collect()
}

pub fn retry_delays() -> Vec<Duration> {
    RETRIES.map(Duration::from_secs).to_vec()
}
