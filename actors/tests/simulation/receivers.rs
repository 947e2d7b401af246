//! Webhook receivers: good, flaky, slow and dead ones.

use crate::world::{EXPECTED_PANIC, World};
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

const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug)]
enum Reliability {
    Good,
    Flaky,
    Slow,
    Dead,
}

const RELIABILITIES: [Reliability; 4] = [
    Reliability::Good,
    Reliability::Flaky,
    Reliability::Slow,
    Reliability::Dead,
];

pub struct Receivers {
    world: World,
    reliabilities: Mutex<BTreeMap<WebhookId, Reliability>>,
}

impl Receivers {
    pub fn new(world: &World) -> Self {
        Self {
            world: world.clone(),
            reliabilities: Mutex::default(),
        }
    }

    /// The status of the answer, if any, and its delay; `None` for a panic of the sender.
    fn outcome(&self, webhook: WebhookId) -> Option<(Option<u16>, Duration)> {
        let rng = &self.world.rng;
        if self.world.is_calm() {
            return Some((Some(200), rng.millis(1, 40)));
        }
        let mut reliabilities = self.reliabilities.lock();
        let reliability = reliabilities
            .entry(webhook)
            .or_insert_with(|| rng.pick(&RELIABILITIES).unwrap_or(Reliability::Good));
        if rng.one_in(25) {
            // The reliability of a receiver changes now and then.
            *reliability = rng.pick(&RELIABILITIES).unwrap_or(Reliability::Good);
        }
        if rng.one_in(40) {
            return None;
        }
        let status = |codes: &[u16]| rng.pick(codes);
        let (answer, after) = match *reliability {
            Reliability::Good => (status(&[200, 201, 204, 299]), rng.millis(1, 200)),
            Reliability::Flaky => (
                status(&[200, 500, 503, 301, 410, 429, 404]),
                rng.millis(1, 2_000),
            ),
            Reliability::Slow => (status(&[200, 200, 500]), rng.millis(3_000, 14_000)),
            Reliability::Dead => (None, rng.millis(1, 14_000)),
        };
        Some(if after >= ATTEMPT_TIMEOUT {
            (None, ATTEMPT_TIMEOUT)
        } else {
            (answer, after)
        })
    }
}

impl Transport for Receivers {
    fn attempt(
        &self,
        delivery: Delivery,
        webhook: Webhook,
    ) -> LocalBoxFuture<'static, AttemptOutcome> {
        let (world, at) = (self.world.clone(), self.world.now());
        let outcome = self.outcome(webhook.id);
        let not_sent = !world.is_calm() && world.rng.one_in(40);
        let secrets = webhook.signing_secrets(Timestamp::from_millis(at));
        let secrets: Vec<Vec<u8>> = secrets.into_iter().map(|it| it.0.clone()).collect();
        world.model.lock().attempt_begins(&delivery, webhook.id, at);
        world.model.lock().signs(&webhook, &secrets, at);
        async move {
            let Some((status_code, took)) = outcome else {
                world.model.lock().deliveries.attempt_panics(delivery.id);
                panic!("{EXPECTED_PANIC}");
            };
            sleep(took).await;
            if not_sent {
                world
                    .model
                    .lock()
                    .deliveries
                    .attempt_is_not_sent(delivery.id);
                return AttemptOutcome::NotSent("an injected failure of the service".into());
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
