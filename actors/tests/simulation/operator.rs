//! The operator: money, webhooks, pauses, redeliveries, and what housekeeping forgets.

use crate::life::Process;
use crate::model::{DepositRequest, amount};
use tintype_actors::account::DepositMoney;
use tintype_actors::delivery::{AddDelivery, ForgetDeliveries, Redeliver};
use tintype_actors::dispatcher::PauseChanged;
use tintype_storage::domain::canonical::Encoding;
use tintype_storage::domain::delivery::{Delivery, DeliveryId, DeliveryKind};
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::request::Fingerprint;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::{SealedSecret, Webhook, WebhookId};
use tintype_storage::engine::Commit;
use tintype_storage::store::{Deposit, IdempotencyUse, Writes};
use tokio::sync::oneshot;

const NAMES: [&str; 3] = ["d1", "d2", "d3"];
/// So many webhooks an account may have here.
const WEBHOOKS: usize = 4;

/// Adds money or takes some back, or asks for an earlier deposit once more.
pub async fn deposit(process: Process) {
    let (world, chance) = (&process.world, &process.world.chance);
    let Some((account, _)) = chance.pick(&process.plan.keys) else {
        return;
    };
    let earlier = world.model.lock().deposits.len();
    let number = match chance.one_in(3) && earlier > 0 {
        true => chance.below(earlier as u64) as usize,
        false => {
            let deposit = DepositRequest {
                account,
                amount: chance.between(-400_000, 1_500_000),
                name: chance
                    .one_in(2)
                    .then(|| chance.pick(&NAMES).unwrap_or("d1").to_owned()),
                issues: 0,
                lines: 0,
            };
            world.model.lock().deposits.push(deposit);
            earlier
        }
    };
    let asked = world.model.lock().deposits[number].clone();
    world.model.lock().deposit_issued(number);
    let mut fingerprint = [1; 32];
    fingerprint[..8].copy_from_slice(&(number as u64).to_be_bytes());
    let Ok(Some(handle)) = process.system.accounts().get(asked.account) else {
        return;
    };
    let (reply, answer) = oneshot::channel();
    handle.address.do_send(DepositMoney {
        deposit: Deposit {
            amount: amount(asked.amount),
            reference: Some(format!("deposit {number}")),
            idempotency: asked.name.map(|name| IdempotencyUse {
                name,
                fingerprint: Fingerprint(fingerprint),
            }),
        },
        note: None,
        reply,
    });
    let Ok(outcome) = answer.await else { return };
    let outcome = outcome.map(drop);
    world.tell(format!(
        "deposit {number} of {}: {}",
        asked.amount,
        outcome.is_ok()
    ));
    world.model.lock().deposit_answered(number, &outcome);
}

/// Writes, and waits until it is durable; `false` after a failure.
async fn write(process: &Process, writes: Writes) -> bool {
    let (sender, written) = oneshot::channel();
    let done = Box::new(move |outcome: Result<_, _>| {
        // The operator may have gone away.
        let _ = sender.send(outcome.is_ok());
    });
    process.store.engine().submit(Commit { writes, done });
    written.await.unwrap_or(false)
}

fn id(process: &Process) -> uuid::Uuid {
    let now = Timestamp::from_millis(process.world.now());
    process.system.accounts().context().ids.next(now)
}

/// Registers a webhook, removes one, or gives one another URL.
pub async fn webhook(process: Process) {
    let (world, chance) = (&process.world, &process.world.chance);
    let Some((account, _)) = chance.pick(&process.plan.keys) else {
        return;
    };
    let hooks = world.model.lock().hooks_of(account).to_vec();
    let removes = hooks.len() >= WEBHOOKS || (!hooks.is_empty() && chance.one_in(3));
    let (what, writes) = if removes {
        let Some(hook) = chance.pick(&hooks) else {
            return;
        };
        let Ok(Some(webhook)) = process.store.webhook(account, hook.id) else {
            return;
        };
        ("removed", process.store.remove_webhook(&webhook))
    } else if !hooks.is_empty() && chance.one_in(4) {
        let Some(hook) = chance.pick(&hooks) else {
            return;
        };
        let Ok(Some(webhook)) = process.store.webhook(account, hook.id) else {
            return;
        };
        let moved = Webhook {
            url: format!("https://receiver.example/{}", world.number()),
            ..webhook
        };
        ("moved", process.store.put_webhook(&moved))
    } else {
        let id = WebhookId(id(&process));
        let webhook = Webhook {
            id,
            account,
            url: format!("https://receiver.example/{}", world.number()),
            encoding: Encoding::Ascii,
            secret: SealedSecret(vec![0]),
            retired: Vec::new(),
            created_at: Timestamp::from_millis(world.now()),
        };
        ("registered", process.store.put_webhook(&webhook))
    };
    let done = write(&process, writes).await;
    world.tell(format!("a webhook is {what}: {done}"));
}

/// Pauses tiers, or lets them go on.
pub async fn pause(process: Process, tiers: [bool; 3]) {
    let pause = Pause {
        tiers,
        ..Pause::default()
    };
    if write(&process, process.store.set_pause(&pause)).await {
        process.world.tell(format!("paused: {tiers:?}"));
        let hears = process.system.hears_of_pauses();
        hears.do_send(PauseChanged(pause));
    }
}

/// Sends a delivery once more.
pub async fn redeliver(process: Process) {
    let world = &process.world;
    let ids = world.model.lock().deliveries.ids();
    let Some(id) = world.chance.pick(&ids) else {
        return;
    };
    world.model.lock().deliveries.ask_redelivery(id);
    let (reply, answer) = oneshot::channel();
    process.system.deliveries().do_send(Redeliver {
        id,
        note: None,
        reply,
    });
    let outcome = answer
        .await
        .map(|it| it.map(|it| it.round).map_err(|it| it.to_string()));
    world.tell(format!("a delivery is sent again: {outcome:?}"));
}

/// Sends a test to a webhook.
pub async fn send_test(process: Process) {
    let (world, chance) = (&process.world, &process.world.chance);
    let Some((account, _)) = chance.pick(&process.plan.keys) else {
        return;
    };
    let hooks = world.model.lock().hooks_of(account).to_vec();
    let Some(hook) = chance.pick(&hooks) else {
        return;
    };
    let Ok(Some(webhook)) = process.store.webhook(account, hook.id) else {
        return;
    };
    let (id, now) = (id(&process), Timestamp::from_millis(world.now()));
    let delivery = Delivery::new(DeliveryId(id), &webhook, DeliveryKind::Test, JobId(id), now);
    world.model.lock().deliveries.ask_test(delivery.id);
    let (reply, answer) = oneshot::channel();
    process.system.deliveries().do_send(AddDelivery {
        delivery,
        audit: None,
        reply,
    });
    if let Ok(Ok(delivery)) = answer.await
        && world.model.lock().deliveries.get(delivery.id).is_none()
    {
        world.fault(format!(
            "test {} was answered before it was durable",
            delivery.id
        ));
    }
}

/// Forgets what is old.
pub async fn tidy_up(process: Process) {
    let (world, now) = (&process.world, process.world.now());
    world.model.lock().saw_clock(now);
    if let Ok((writes, _)) = process
        .store
        .forget_expired(Timestamp::from_millis(now), &[], 50)
        && !writes.is_empty()
    {
        // Some other commits may well come in between.
        tokio::time::sleep(world.chance.millis(0, 30)).await;
        write(&process, writes).await;
    }
    let older_than = now - world.chance.between(1_000, 7_200_000);
    world.model.lock().deliveries.ask_to_forget(older_than);
    let (reply, answer) = oneshot::channel();
    process.system.deliveries().do_send(ForgetDeliveries {
        older_than: Timestamp::from_millis(older_than),
        cursor: Vec::new(),
        limit: 30,
        reply,
    });
    drop(answer.await);
}
