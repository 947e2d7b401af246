//! API keys: the operator changes them while jobs of theirs live, and callers know new texts of them, or old ones.

use crate::chance::Chance;
use crate::life::Process;
use crate::model::{Door, KeyChange, Limits, amount};
use crate::operator::{line, turn};
use std::time::Duration;
use tintype_actors::account::{self, AccountCommand};
use tintype_storage::domain::api_key::{ApiKey, KeyHash};
use tintype_storage::domain::audit_log::Action;
use tintype_storage::domain::caller::ShownKey;
use tintype_storage::domain::ids::{AccountId, KeyId};
use tintype_storage::domain::spending::SpendLimits;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::Wait as _;
use tokio::sync::oneshot;

/// Earlier texts that an account may have at once.
const EARLIER: usize = 4;

fn text(chance: &Chance) -> [u8; 32] {
    let mut text = [0; 32];
    text.fill_with(|| chance.below(256) as u8);
    text
}

fn limits(chance: &Chance) -> Limits {
    let limit = |most| chance.one_in(3).then(|| chance.between(100_000, most));
    Limits {
        total: limit(2_000_000),
        monthly: limit(1_500_000),
        daily: limit(1_000_000),
        live: chance.one_in(4).then(|| chance.between(1, 5)),
    }
}

/// What the operator may limit of an account.
pub fn of_account(chance: &Chance) -> Limits {
    let limit = |most| chance.one_in(2).then(|| chance.between(100_000, most));
    Limits {
        total: None,
        monthly: limit(2_500_000),
        daily: limit(1_500_000),
        live: chance.one_in(3).then(|| chance.between(1, 8)),
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

/// A key as an account has it from the beginning.
pub fn first(chance: &Chance, account: AccountId, id: KeyId) -> (Door, ApiKey) {
    let door = Door {
        account,
        text: text(chance),
        active: true,
        limits: limits(chance),
        earlier: Vec::new(),
    };
    let key = ApiKey {
        name: "a key".into(),
        ..ApiKey::with_all_rights(id, account, Timestamp::from_millis(crate::world::BEGIN))
    };
    let key = with_limits(key, door.limits);
    (door, key)
}

/// A caller shows a text of its key: the limits that hold as it comes, if the door opens.
pub fn enter(process: &Process, key: KeyId) -> Option<(Limits, ShownKey)> {
    let (world, chance) = (&process.world, &process.world.chance);
    let now = world.now();
    let mut model = world.model.lock();
    let texts = model.doors.texts(key).to_vec();
    let text = match chance.one_in(4) {
        true => chance.pick(&texts)?,
        false => *texts.last()?,
    };
    let expected = model.doors.opened_by(&text, now);
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
            "a text opens {as_found:?}, it is to open {as_expected:?}"
        ));
    }
    if found.is_none() {
        model.count("calls turned away");
    }
    let shown = ShownKey {
        hash: KeyHash(text),
        address: None,
        rate_limit: found?.rate_limit,
    };
    Some((expected?.1, shown))
}

/// Gives a key another text or other limits, or switches it off or on.
pub async fn change(process: Process) {
    let Some(_turn) = turn(&process).await else {
        return;
    };
    let (world, chance) = (&process.world, &process.world.chance);
    let Some((_, id)) = chance.pick(&process.plan.keys) else {
        return;
    };
    let Ok(Some((hash, before))) = process.store.key(id).wait() else {
        return world.fault(format!("key {id} is not found"));
    };
    let at = world.now();
    let now = Timestamp::from_millis(at);
    let (change, action, after, mut writes) = match chance.below(5) {
        roll if roll == 0 || !before.active => {
            let active = !before.active;
            let key = ApiKey { active, ..before };
            let writes = process.store.put_key(&hash, &key);
            let change = KeyChange::Active(active);
            (change, Action::KeyChange, (hash, key), writes)
        }
        1..3 => {
            let limits = limits(chance);
            let key = with_limits(before, limits);
            let writes = process.store.put_key(&hash, &key);
            let change = KeyChange::Limits(limits);
            (change, Action::KeyChange, (hash, key), writes)
        }
        _ => {
            let overlap = chance
                .pick(&[None, Some(3_600_000), Some(86_400_000)])
                .flatten();
            let until = overlap.map(|it: i64| now.plus(Duration::from_millis(it.unsigned_abs())));
            let (key, ended) = before.rotate(hash, until, now);
            if key.retired.len() > EARLIER {
                return;
            }
            let text = text(chance);
            let writes = process
                .store
                .rotate_key(&hash, &KeyHash(text), &key, &ended);
            (
                KeyChange::Rotates { text, overlap, at },
                Action::KeyRotate,
                (KeyHash(text), key),
                writes,
            )
        }
    };
    writes.push(process.store.add_audit(&line(&process, action, id.0)));
    world.model.lock().doors.ask(id, change);
    let Ok(Some(account)) = process.system.accounts().get(after.1.account) else {
        return world.fault(format!("the account of key {id} is not found"));
    };
    let (reply, answer) = oneshot::channel();
    let key_change = account::KeyChange {
        key: id,
        after: Some(after),
        writes,
        then: Box::new(|| {}),
        reply: reply.into(),
    };
    let _ = account.send(AccountCommand::ChangeKey(Box::new(key_change)));
    let done = answer.await.is_ok_and(|it| it.is_ok());
    world.tell(format!("{} {change:?}: {done}", action.word()));
}
