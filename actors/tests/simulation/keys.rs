//! API keys: the operator changes them while their jobs are live, and callers use current texts or old ones.

use crate::life::Process;
use crate::model::{KeyChange, KeyState, Limits, amount};
use crate::operator::{audit, turn};
use crate::rng::Rng;
use std::time::Duration;
use tintype_actors::account::{self, AccountCommand};
use tintype_storage::domain::api_key::{ApiKey, KeyHash};
use tintype_storage::domain::audit_log::Action;
use tintype_storage::domain::caller::PresentedKey;
use tintype_storage::domain::ids::{AccountId, KeyId};
use tintype_storage::domain::spending::SpendLimits;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::Wait as _;
use tokio::sync::oneshot;

/// Most retired texts of a key.
const MAX_RETIRED: usize = 4;

fn text(rng: &Rng) -> [u8; 32] {
    let mut text = [0; 32];
    text.fill_with(|| rng.below(256) as u8);
    text
}

fn limits(rng: &Rng) -> Limits {
    let limit = |most| rng.one_in(3).then(|| rng.between(100_000, most));
    Limits {
        total: limit(2_000_000),
        monthly: limit(1_500_000),
        daily: limit(1_000_000),
        live: rng.one_in(4).then(|| rng.between(1, 5)),
    }
}

/// Random limits of an account.
pub fn of_account(rng: &Rng) -> Limits {
    let limit = |most| rng.one_in(2).then(|| rng.between(100_000, most));
    Limits {
        total: None,
        monthly: limit(2_500_000),
        daily: limit(1_500_000),
        live: rng.one_in(3).then(|| rng.between(1, 8)),
    }
}

fn with_limits(key: ApiKey, limits: Limits) -> ApiKey {
    ApiKey {
        spend_limit: limits.total.map(amount),
        spend_limit_monthly: limits.monthly.map(amount),
        spend_limit_daily: limits.daily.map(amount),
        max_concurrent: limits.live.map(|it| it as u32),
        ..key
    }
}

/// The initial key of an account.
pub fn first(rng: &Rng, account: AccountId, id: KeyId) -> (KeyState, ApiKey) {
    let key_state = KeyState {
        account,
        text: text(rng),
        active: true,
        limits: limits(rng),
        earlier: Vec::new(),
    };
    let key = ApiKey {
        name: "a key".into(),
        ..ApiKey::with_all_rights(id, account, Timestamp::from_millis(crate::world::BEGIN))
    };
    let key = with_limits(key, key_state.limits);
    (key_state, key)
}

/// Authenticates a caller with one of its key's texts. Returns the limits that apply if the text is valid.
pub fn authenticate(process: &Process, key: KeyId) -> Option<(Limits, PresentedKey)> {
    let (world, rng) = (&process.world, &process.world.rng);
    let now = world.now();
    let mut model = world.model.lock();
    let texts = model.key_states.texts(key).to_vec();
    let text = match rng.one_in(4) {
        true => rng.pick(&texts)?,
        false => *texts.last()?,
    };
    let expected = model.key_states.opened_by(&text, now);
    let now = Timestamp::from_millis(now);
    let found = process.store.key_by_text_hash(&KeyHash(text), now).wait();
    let found = found.ok().flatten().map(|(key, _)| key);
    let found = found.filter(|key| key.admit(true, now).is_ok());
    let as_found = found.as_ref().map(|it| (it.id, it.spend_limits()));
    let as_expected = expected.map(|(id, limits)| {
        let spend_limits = SpendLimits {
            total: limits.total.map(amount),
            monthly: limits.monthly.map(amount),
            daily: limits.daily.map(amount),
        };
        (id, spend_limits)
    });
    if as_found != as_expected {
        model.fault(format!(
            "a text authenticates as {as_found:?}, expected {as_expected:?}"
        ));
    }
    if found.is_none() {
        model.count("calls turned away");
    }
    let shown = PresentedKey {
        hash: KeyHash(text),
        address: None,
        rate_limit: found?.rate_limit,
    };
    Some((expected?.1, shown))
}

/// Rotates a key, changes its limits, or activates or deactivates it.
pub async fn change(process: Process) {
    let Some(_turn) = turn(&process).await else {
        return;
    };
    let (world, rng) = (&process.world, &process.world.rng);
    let Some((_, id)) = rng.pick(&process.plan.keys) else {
        return;
    };
    let Ok(Some((hash, before))) = process.store.key(id).wait() else {
        return world.fault(format!("key {id} is not found"));
    };
    let at = world.now();
    let now = Timestamp::from_millis(at);
    let (change, action, after, mut writes) = match rng.below(5) {
        roll if roll == 0 || !before.active => {
            let active = !before.active;
            let key = ApiKey { active, ..before };
            let writes = process.store.put_key(&hash, &key);
            let change = KeyChange::Active(active);
            (change, Action::KeyChange, (hash, key), writes)
        }
        1..3 => {
            let limits = limits(rng);
            let key = with_limits(before, limits);
            let writes = process.store.put_key(&hash, &key);
            let change = KeyChange::Limits(limits);
            (change, Action::KeyChange, (hash, key), writes)
        }
        _ => {
            let overlap = rng
                .pick(&[None, Some(3_600_000), Some(86_400_000)])
                .flatten();
            let until = overlap.map(|it: i64| now.plus(Duration::from_millis(it.unsigned_abs())));
            let (key, ended) = before.rotate(hash, until, now);
            if key.retired.len() > MAX_RETIRED {
                return;
            }
            let text = text(rng);
            let writes = process
                .store
                .rotate_key(&hash, &KeyHash(text), &key, &ended);
            (
                KeyChange::Rotate { text, overlap, at },
                Action::KeyRotate,
                (KeyHash(text), key),
                writes,
            )
        }
    };
    writes.push(audit(&process, action, id.0));
    world.model.lock().key_states.ask(id, change);
    let Ok(Some(account)) = process
        .system
        .accounts()
        .get_or_start(after.1.account)
        .await
    else {
        return world.fault(format!("the account of key {id} is not found"));
    };
    let (reply, answer) = oneshot::channel();
    let key_change = account::ChangeKey {
        key: id,
        after: Some(after),
        writes,
        then: Box::new(|| {}),
        reply: reply.into(),
    };
    let _ = account.send(AccountCommand::ChangeKey(Box::new(key_change)));
    let done = answer.await.is_ok_and(|it| it.is_ok());
    world.trace(format!("{} {change:?}: {done}", action.as_str()));
}
