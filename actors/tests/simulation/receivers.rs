//! Receivers of every kind: good, moody, slow, dead.

use crate::world::{ON_PURPOSE, World};
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::time::Duration;
use tintype_actors::ports::{AttemptOutcome, Transport};
use tintype_storage::domain::delivery::{Attempt, Delivery};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::{Webhook, WebhookId};
use tokio::time::sleep;

/// How long an attempt may take.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug)]
enum Temper {
    Good,
    Moody,
    Slow,
    Dead,
}

const TEMPERS: [Temper; 4] = [Temper::Good, Temper::Moody, Temper::Slow, Temper::Dead];

/// All receivers.
pub struct Post {
    world: World,
    tempers: Mutex<BTreeMap<WebhookId, Temper>>,
}

impl Post {
    pub fn new(world: &World) -> Self {
        Self {
            world: world.clone(),
            tempers: Mutex::default(),
        }
    }

    /// The status that is answered, if any, and after how long; `None` for a panic of the sender.
    fn outcome(&self, webhook: WebhookId) -> Option<(Option<u16>, Duration)> {
        let chance = &self.world.chance;
        if self.world.is_calm() {
            return Some((Some(200), chance.millis(1, 40)));
        }
        let mut tempers = self.tempers.lock();
        let temper = tempers
            .entry(webhook)
            .or_insert_with(|| chance.pick(&TEMPERS).unwrap_or(Temper::Good));
        if chance.one_in(25) {
            // Every so often one is mended, or breaks.
            *temper = chance.pick(&TEMPERS).unwrap_or(Temper::Good);
        }
        if chance.one_in(40) {
            return None;
        }
        let status = |codes: &[u16]| chance.pick(codes);
        let (answer, after) = match *temper {
            Temper::Good => (status(&[200, 201, 204, 299]), chance.millis(1, 200)),
            Temper::Moody => (
                status(&[200, 500, 503, 301, 410, 429, 404]),
                chance.millis(1, 2_000),
            ),
            Temper::Slow => (status(&[200, 200, 500]), chance.millis(3_000, 14_000)),
            Temper::Dead => (None, chance.millis(1, 14_000)),
        };
        Some(if after >= PATIENCE {
            (None, PATIENCE)
        } else {
            (answer, after)
        })
    }
}

impl Transport for Post {
    fn attempt(
        &self,
        delivery: Delivery,
        webhook: Webhook,
    ) -> LocalBoxFuture<'static, AttemptOutcome> {
        let (world, at) = (self.world.clone(), self.world.now());
        let outcome = self.outcome(webhook.id);
        let not_sent = !world.is_calm() && world.chance.one_in(40);
        let secrets = webhook.signing_secrets(Timestamp::from_millis(at));
        let secrets: Vec<Vec<u8>> = secrets.into_iter().map(|it| it.0.clone()).collect();
        world.model.lock().attempt_begins(&delivery, webhook.id, at);
        world.model.lock().signs(&webhook, &secrets, at);
        async move {
            let Some((status_code, took)) = outcome else {
                world.model.lock().deliveries.attempt_panics(delivery.id);
                panic!("{ON_PURPOSE}");
            };
            sleep(took).await;
            if not_sent {
                world
                    .model
                    .lock()
                    .deliveries
                    .attempt_is_not_sent(delivery.id);
                return AttemptOutcome::NotSent("something of our own is missing".into());
            }
            let attempt = Attempt {
                round: delivery.round,
                at: Timestamp::from_millis(at),
                status_code,
                error: status_code.is_none().then(|| "no answer".into()),
                duration_ms: took.as_millis() as u64,
                response_body: String::new(),
                url: None,
                sent: None,
            };
            world
                .model
                .lock()
                .deliveries
                .attempt_returns(delivery.id, &attempt);
            AttemptOutcome::Made(attempt)
        }
        .boxed_local()
    }
}
