//! The operator: deposits, webhooks, pauses, redeliveries and maintenance. Each change includes its audit log entry.

use crate::keys;
use crate::life::Process;
use crate::model::{DepositRequest, HookChange, amount, backend_name};
use tintype_actors::account::AccountCommand;
use tintype_actors::delivery::{DeliveryCommand, RedeliveryChange};
use tintype_actors::round::decide;
use tintype_storage::domain::account::AccountChange;
use tintype_storage::domain::account_limits::AccountLimitsChange;
use tintype_storage::domain::audit_log::{Action, Actor, AuditEntry, ToAuditEntry};
use tintype_storage::domain::backend_pauses::{BackendPause, BackendPauses};
use tintype_storage::domain::delivery::{Delivery, DeliveryId, DeliveryKind};
use tintype_storage::domain::ids::AuditId;
use tintype_storage::domain::ledger::LedgerEntry;
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::request::Fingerprint;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::{SealedSecret, Webhook, WebhookId};
use tintype_storage::engine::Commit;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::tables::{AUDIT_LOG, BACKEND_PAUSES, PAUSE, WEBHOOKS};
use tintype_storage::store::{AccountChanged, Deposit, IdempotencyUse, Write, Writes};
use tokio::sync::{MutexGuard, oneshot};
use uuid::Uuid;

const NAMES: [&str; 3] = ["d1", "d2", "d3"];
/// Most webhooks per account.
const MAX_WEBHOOKS: usize = 4;

/// Makes or corrects a deposit, or repeats an earlier call.
pub async fn deposit(process: Process) {
    let (world, rng) = (&process.world, &process.world.rng);
    let Some((account, _)) = rng.pick(&process.plan.keys) else {
        return;
    };
    let earlier = world.model.lock().deposits.len();
    let number = match rng.one_in(3) && earlier > 0 {
        true => rng.below(earlier as u64) as usize,
        false => {
            let deposit = DepositRequest {
                account,
                amount: rng.between(-400_000, 1_500_000),
                name: rng
                    .one_in(2)
                    .then(|| rng.pick(&NAMES).unwrap_or("d1").to_owned()),
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
    let Ok(Some(handle)) = process.system.accounts().get_or_start(asked.account).await else {
        return;
    };
    let (reply, answer) = oneshot::channel();
    let command = AccountCommand::Deposit {
        deposit: Deposit {
            amount: amount(asked.amount),
            reference: Some(format!("deposit {number}")),
            idempotency: asked.name.map(|name| IdempotencyUse {
                name,
                fingerprint: Fingerprint(fingerprint),
            }),
        },
        to_entry: Some(to_entry(
            &process,
            Action::DepositCreate,
            |it: &LedgerEntry| it.id.0,
        )),
        reply: reply.into(),
    };
    let _ = handle.send(command);
    let Ok(outcome) = answer.await else { return };
    let outcome = outcome.map(drop);
    world.trace(format!(
        "deposit {number} of {}: {}",
        asked.amount,
        outcome.is_ok()
    ));
    world.model.lock().deposit_answered(number, &outcome);
}

/// Commits, and waits until the commit is durable. Returns false after a failure.
pub async fn write(process: &Process, writes: Writes) -> bool {
    let (sender, written) = oneshot::channel();
    let done = Box::new(move |outcome: Result<_, _>| {
        // The operator may have gone away.
        let _ = sender.send(outcome.is_ok());
    });
    process.store.engine().submit(Commit { writes, done });
    written.await.unwrap_or(false)
}

fn id(process: &Process) -> Uuid {
    let now = Timestamp::from_millis(process.world.now());
    process.system.process().ids.next(now)
}

/// Waits for the operator's turn; `None` after a storage failure, when the last write may or may not be durable.
pub async fn turn(process: &Process) -> Option<MutexGuard<'_, ()>> {
    let turn = process.turn.lock().await;
    let failed = process.world.model.lock().storage_failed;
    (!failed).then_some(turn)
}

pub fn audit(process: &Process, action: Action, subject: Uuid) -> Write {
    let entry = audit_entry(process, action, subject);
    AUDIT_LOG.put(&entry.id, &entry)
}

fn audit_entry(process: &Process, action: Action, subject: Uuid) -> AuditEntry {
    AuditEntry {
        id: AuditId(id(process)),
        at: Timestamp::from_millis(process.world.now()),
        actor: Actor::Operator,
        action,
        account: None,
        subject: Some(subject),
        before: None,
        after: None,
        request: None,
        address: None,
    }
}

/// Builds the audit log entry of a change whose subject only the actor knows.
pub fn to_entry<T>(
    process: &Process,
    action: Action,
    subject: impl Fn(&T) -> Uuid + Send + 'static,
) -> ToAuditEntry<T> {
    let line = audit_entry(process, action, Uuid::nil());
    Box::new(move |changed| AuditEntry {
        subject: Some(subject(changed)),
        ..line.clone()
    })
}

/// Registers or deletes a webhook, or changes its URL or secret.
pub async fn webhook(process: Process) {
    let Some(_turn) = turn(&process).await else {
        return;
    };
    let (world, rng) = (&process.world, &process.world.rng);
    let Some((account, _)) = rng.pick(&process.plan.keys) else {
        return;
    };
    let hooks = world.model.lock().hooks_of(account).to_vec();
    let known = rng.pick(&hooks);
    let known = known.and_then(|hook| {
        WEBHOOKS
            .get(&process.store, &(account, hook.id))
            .wait()
            .ok()?
    });
    let url = format!("https://receiver.example/{}", world.number());
    let secret = SealedSecret(world.number().to_be_bytes().to_vec());
    let now = Timestamp::from_millis(world.now());
    let many = hooks.len() >= MAX_WEBHOOKS;
    let (change, action, webhook) = match known {
        Some(known) if many || rng.one_in(4) => (HookChange::Delete, Action::WebhookDelete, known),
        Some(known) if rng.one_in(4) => {
            let moved = Webhook {
                url: url.clone(),
                ..known
            };
            (HookChange::Move { url }, Action::WebhookChange, moved)
        }
        Some(known) if rng.one_in(2) => {
            let change = HookChange::Rotate {
                secret: secret.0.clone(),
                at: now.millis(),
            };
            (
                change,
                Action::WebhookRotateSecret,
                known.rotate(secret, now),
            )
        }
        _ => {
            let webhook = Webhook::new(
                WebhookId(id(&process)),
                account,
                url.clone(),
                secret.clone(),
                now,
            );
            let change = HookChange::Register {
                url,
                secret: secret.0,
            };
            (change, Action::WebhookCreate, webhook)
        }
    };
    let mut writes = match change {
        HookChange::Delete => process.store.remove_webhook(&webhook),
        _ => process.store.put_webhook(&webhook),
    };
    writes.push(audit(&process, action, webhook.id.0));
    world.model.lock().hook_change_asked(webhook.id, change);
    let done = write(&process, writes).await;
    world.trace(format!("{}: {done}", action.as_str()));
}

/// Sets or lifts the limits of an account.
pub async fn limit(process: Process) {
    let Some(_turn) = turn(&process).await else {
        return;
    };
    let (world, rng) = (&process.world, &process.world.rng);
    let Some((account, _)) = rng.pick(&process.plan.keys) else {
        return;
    };
    let limits = keys::of_account(rng);
    let Ok(Some(handle)) = process.system.accounts().get_or_start(account).await else {
        return;
    };
    world.model.lock().ceiling_asked(account, limits);
    let (reply, answer) = oneshot::channel();
    let command = AccountCommand::Change {
        change: AccountChange {
            limits: Some(Some(AccountLimitsChange {
                spend_per_day: Some(limits.daily.map(amount)),
                spend_per_month: Some(limits.monthly.map(amount)),
                rate_limit: None,
                max_concurrent: Some(limits.live.map(|it| it as u32)),
            })),
            ..AccountChange::default()
        },
        to_entry: Some(to_entry(
            &process,
            Action::AccountChange,
            |it: &AccountChanged| it.after.id.0,
        )),
        reply: reply.into(),
    };
    let _ = handle.send(command);
    let Ok(Ok(_)) = answer.await else { return };
    world.model.lock().ceiling_answered(account);
    world.trace(format!("an account is limited: {limits:?}"));
}

/// Pauses or resumes the whole service and each tier.
pub async fn pause(process: Process, project: bool, tiers: [bool; 3]) {
    let pause = Pause {
        project,
        tiers,
        ..Pause::default()
    };
    let covered = tiers.map(|tier| tier || project);
    process.world.model.lock().pause_asked(covered);
    let (sender, written) = oneshot::channel();
    let done = Box::new(move |outcome: Result<_, _>| {
        // The operator may have gone away.
        let _ = sender.send(outcome.is_ok());
    });
    let writes = vec![PAUSE.put(&(), &pause)];
    let engine = process.store.engine();
    process
        .system
        .change_pause(pause.clone(), || engine.submit(Commit { writes, done }));
    if written.await.unwrap_or(false) {
        process.world.trace(format!("paused: {covered:?}"));
        if project {
            process.world.model.lock().count("the service paused");
        }
        process.system.accounts().publish_pause(pause);
    }
}

/// Pauses these backends, and resumes the others.
pub async fn pause_backends(process: Process, asked: [bool; 3]) {
    let Some(_turn) = turn(&process).await else {
        return;
    };
    let (world, uptime) = (&process.world, process.world.uptime());
    world.model.lock().backends_pause_asked(asked, uptime);
    let names = (0..3).filter(|it| asked[*it]).map(backend_name);
    let paused = names.map(|it| (it, BackendPause::default())).collect();
    let pauses = BackendPauses { paused };
    if !write(&process, vec![BACKEND_PAUSES.put(&(), &pauses)]).await {
        return;
    }
    process.system.accounts().publish_backend_pauses(pauses);
    let uptime = world.uptime();
    world.model.lock().backends_pause_answered(asked, uptime);
    world.trace(format!("paused backends: {asked:?}"));
}

pub async fn redeliver(process: Process) {
    let world = &process.world;
    let ids = world.model.lock().deliveries.ids();
    let Some(id) = world.rng.pick(&ids) else {
        return;
    };
    world.model.lock().deliveries.ask_redelivery(id);
    let (reply, answer) = oneshot::channel();
    process
        .system
        .deliveries()
        .do_send(DeliveryCommand::Redeliver {
            id,
            to_entry: Some(to_entry(
                &process,
                Action::DeliveryRedeliver,
                |it: &RedeliveryChange| it.after.id.0,
            )),
            reply,
        });
    let outcome = answer
        .await
        .map(|it| it.map(|it| it.round).map_err(|it| it.to_string()));
    world.trace(format!("a delivery is sent again: {outcome:?}"));
}

/// Sends a test delivery to a webhook.
pub async fn send_test(process: Process) {
    let (world, rng) = (&process.world, &process.world.rng);
    let Some((account, _)) = rng.pick(&process.plan.keys) else {
        return;
    };
    let hooks = world.model.lock().hooks_of(account).to_vec();
    let Some(hook) = rng.pick(&hooks) else {
        return;
    };
    let Ok(Some(webhook)) = WEBHOOKS.get(&process.store, &(account, hook.id)).wait() else {
        return;
    };
    let (id, now) = (id(&process), Timestamp::from_millis(world.now()));
    let delivery = Delivery::new(DeliveryId(id), &webhook, DeliveryKind::Test, id, now);
    world.model.lock().deliveries.ask_test(delivery.id);
    let (reply, answer) = oneshot::channel();
    let mut writes = process.store.add_delivery(&delivery);
    writes.push(audit(&process, Action::WebhookTest, delivery.id.0));
    process.system.deliveries().do_send(DeliveryCommand::Add {
        delivery,
        writes,
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

/// Deletes expired idempotency records and old deliveries.
pub async fn clean_up(process: Process) {
    let (world, now) = (&process.world, process.world.now());
    world.model.lock().saw_clock(now);
    if let Ok((writes, _)) = process
        .store
        .delete_expired(Timestamp::from_millis(now), &[], 50)
        .wait()
        && !writes.is_empty()
    {
        // Other commits may come in between.
        tokio::time::sleep(world.rng.millis(0, 30)).await;
        write(&process, writes).await;
    }
    let older_than = now - world.rng.between(1_000, 7_200_000);
    world.model.lock().deliveries.ask_to_forget(older_than);
    let (reply, answer) = oneshot::channel();
    process
        .system
        .deliveries()
        .do_send(DeliveryCommand::Delete {
            older_than: Timestamp::from_millis(older_than),
            cursor: Vec::new(),
            limit: 30,
            reply,
        });
    drop(answer.await);
}

/// Deletes jobs and batches whose idempotency keys have expired. Sometimes the sweep ends early.
pub async fn delete_old_jobs(process: Process) {
    let Some(_turn) = turn(&process).await else {
        return;
    };
    let (world, store, now) = (&process.world, &process.store, process.world.now());
    let first_kept = {
        let mut model = world.model.lock();
        model.saw_clock(now);
        let first_kept = Timestamp::from_millis(now - model.rules.retention).day();
        model.ask_to_forget_jobs(first_kept);
        first_kept
    };
    let mut cursor = Vec::new();
    loop {
        let step = store.delete_old_batches(first_kept, &cursor).wait();
        let Ok((writes, next)) = step else { return };
        let ends_early = world.rng.one_in(9);
        if ends_early || !writes.is_empty() && !write(&process, writes).await {
            return;
        }
        cursor = next;
        if cursor.is_empty() {
            break;
        }
    }
    loop {
        let step = store.delete_ended_jobs(first_kept, &cursor).wait();
        let Ok((deletion, next)) = step else { return };
        if world.rng.one_in(9) {
            return;
        }
        if let Some(deletion) = deletion
            && decide(store, deletion).await.is_err()
        {
            return;
        }
        cursor = next;
        if cursor.is_empty() {
            break;
        }
    }
    world.trace(format!("jobs before day {first_kept} are deleted"));
}
