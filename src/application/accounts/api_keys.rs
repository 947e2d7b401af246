//! Issues, changes, rotates and deletes API keys.

use crate::application::caller::Caller;
use crate::application::core::Core;
use crate::application::core::audit_context::{AuditContext, Subject};
use crate::application::core::change_lock::ChangeGuard;
use crate::application::core::commit::Change;
use crate::application::error::Error;
use crate::application::services::AccountService;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::api_key::{self, ApiKey, KeyChange, KeyHash, RateLimit};
use tintype_storage::domain::audit_log::Action;
use tintype_storage::domain::ids::{AccountId, KeyId};
use tintype_storage::domain::tier::Tier;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::store::tables::PANEL_KEYS;
use tintype_storage::store::{Write, Writes};

/// Per account.
pub const MAX_KEYS: usize = 100;
/// Retired values of one key that may be valid at the same time.
const MAX_RETIRED: usize = 8;

/// The same text for an unknown id and for a malformed id.
pub fn no_key() -> Error {
    Error::not_found("there is no such key")
}

/// Finds a key that is visible to the caller, with the hash of its value.
pub async fn find(core: &Core, caller: &Caller, id: KeyId) -> Result<(KeyHash, ApiKey), Error> {
    let found = core.store.key(id).await?;
    let seen = found.filter(|(_, key)| caller.sees(key.account));
    seen.ok_or_else(no_key)
}

/// Issues a key with all rights, narrowed by `change`. Returns the value of the key, which is stored nowhere.
pub async fn create(
    core: &Core,
    caller: &Caller,
    account: AccountId,
    change: KeyChange,
) -> Result<(String, ApiKey), Error> {
    let guard = core.locks.operator.lock().await?;
    create_under_lock(core, guard, caller, account, change, Vec::new()).await
}

/// As [`create`], under the lock that the caller holds. The commit contains the writes `also`.
pub async fn create_under_lock(
    core: &Core,
    guard: ChangeGuard,
    caller: &Caller,
    account: AccountId,
    change: KeyChange,
    also: Writes,
) -> Result<(String, ApiKey), Error> {
    let context = caller.reauthorize_change(core, account).await?;
    let panel = PANEL_KEYS.get(&core.store, &account).await?;
    let keys = core.store.keys_of(account, MAX_KEYS + 1, None).await?.items;
    if keys.iter().filter(|it| Some(it.id) != panel).count() >= MAX_KEYS {
        let fault =
            format!("the account already has {MAX_KEYS} keys, the maximum; delete one first");
        return Err(Error::field("body", fault));
    }
    let shape = |key| change.apply(key);
    store_new(core, guard, context, account, shape, |_| also).await
}

/// Issues a key with all rights, narrowed by `shape`, without the limit of keys: the panel's key does not count. `also` adds writes to
/// the same commit.
pub async fn store_new(
    core: &Core,
    guard: ChangeGuard,
    context: &AuditContext,
    account: AccountId,
    shape: impl FnOnce(ApiKey) -> ApiKey,
    also: impl FnOnce(&ApiKey) -> Writes,
) -> Result<(String, ApiKey), Error> {
    let now = core.now();
    let text = api_key::text(&rand::random());
    let id = KeyId(core.new_id(now));
    let key = ApiKey {
        text_prefix: api_key::text_prefix(&text),
        ..shape(ApiKey::with_all_rights(id, account, now))
    };
    let mut writes = core.store.put_key(&api_key::hash(&text), &key);
    writes.extend(also(&key));
    let facts = Some(facts(&key, now));
    writes.push(context.record(core, Action::KeyCreate, subject(&key), None, facts));
    core.commit(Change::under_lock(guard, writes)).await?;
    Ok((text, key))
}

/// Changes a key. Writes nothing if nothing changes.
pub async fn change(
    accounts: &AccountService,
    caller: &Caller,
    id: KeyId,
    change: KeyChange,
) -> Result<ApiKey, Error> {
    let core = &accounts.core;
    let guard = core.locks.operator.lock().await?;
    let (hash, before) = find(core, caller, id).await?;
    let context = caller.reauthorize_change(core, before.account).await?;
    let key = change.apply(before.clone());
    if key == before {
        return Ok(key);
    }
    let mut writes = core.store.put_key(&hash, &key);
    writes.push(record_change(
        core,
        context,
        Action::KeyChange,
        &before,
        &key,
    ));
    let cache = Arc::clone(&accounts.auth.api_keys);
    let (after, gone) = (Some((hash, key.clone())), before.clone());
    let change = Change::under_lock(guard, writes).then(move || cache.invalidate(&hash, &gone));
    core.commit_key(&before, after, change).await?;
    Ok(key)
}

/// Gives a key a new value and returns it; the value is stored nowhere. The old value stays valid for `overlap`.
///
/// # Errors
/// `Conflict` for the key of the panel's playground, whose value Tintype never shows
pub async fn rotate(
    accounts: &AccountService,
    caller: &Caller,
    id: KeyId,
    overlap: Duration,
) -> Result<(String, ApiKey), Error> {
    let core = &accounts.core;
    let guard = core.locks.operator.lock().await?;
    let (old, before) = find(core, caller, id).await?;
    let context = caller.reauthorize_change(core, before.account).await?;
    if is_of_panel(core, &before).await? {
        return Err(Error::conflict(format!(
            "the key `{}` belongs to the panel, whose playground charges it, and its value is never shown; issue another key for a program",
            before.name
        )));
    }
    let now = core.now();
    let until = (!overlap.is_zero()).then(|| now.plus(overlap));
    let text = api_key::text(&rand::random());
    let (rotated, ended) = before.rotate(old, until, now);
    let key = ApiKey {
        text_prefix: api_key::text_prefix(&text),
        ..rotated
    };
    if key.retired.len() > MAX_RETIRED {
        return Err(Error::conflict(format!(
            "{MAX_RETIRED} earlier values of this key are still valid; wait until one expires, or rotate with overlap_hours 0, which revokes them all"
        )));
    }
    let new = api_key::hash(&text);
    let mut writes = core.store.rotate_key(&old, &new, &key, &ended);
    writes.push(record_change(
        core,
        context,
        Action::KeyRotate,
        &before,
        &key,
    ));
    let cache = Arc::clone(&accounts.auth.api_keys);
    let (after, gone) = (Some((new, key.clone())), before.clone());
    let change = Change::under_lock(guard, writes).then(move || cache.invalidate(&old, &gone));
    core.commit_key(&before, after, change).await?;
    Ok((text, key))
}

/// Deletes a key.
///
/// # Errors
/// `Conflict` for the key of the panel's playground, because the playground would silently issue a new one.
pub async fn delete(accounts: &AccountService, caller: &Caller, id: KeyId) -> Result<(), Error> {
    let core = &accounts.core;
    let guard = core.locks.operator.lock().await?;
    let (hash, key) = find(core, caller, id).await?;
    let context = caller.reauthorize_change(core, key.account).await?;
    if is_of_panel(core, &key).await? {
        return Err(Error::conflict(format!(
            "the key `{}` belongs to the panel, whose playground charges it; deactivate it to disable the playground",
            key.name
        )));
    }
    let now = core.now();
    let facts = Some(facts(&key, now));
    let mut writes = core.store.remove_key(&hash, &key, now);
    writes.push(context.record(core, Action::KeyDelete, subject(&key), facts, None));
    let cache = Arc::clone(&accounts.auth.api_keys);
    let gone = key.clone();
    let change = Change::under_lock(guard, writes).then(move || {
        cache.invalidate(&hash, &gone);
        cache.remove_use(id);
    });
    core.commit_key(&key, None, change).await?;
    Ok(())
}

/// Does the panel's playground charge this key?
async fn is_of_panel(core: &Core, key: &ApiKey) -> Result<bool, Error> {
    Ok(PANEL_KEYS.get(&core.store, &key.account).await? == Some(key.id))
}

fn subject(key: &ApiKey) -> Subject {
    Subject::of(key.account, key.id.0)
}

fn record_change(
    core: &Core,
    context: &AuditContext,
    action: Action,
    before: &ApiKey,
    after: &ApiKey,
) -> Write {
    let now = core.now();
    let [was, is] = [before, after].map(|key| Some(facts(key, now)));
    context.record(core, action, subject(after), was, is)
}

/// The fields of a key that the audit log records: all that an operator sets.
fn facts(key: &ApiKey, now: Timestamp) -> Value {
    json!({
        "name": key.name,
        "prefix": key.text_prefix,
        "models": models(key),
        "active": key.active,
        "expires_at": text(key.expires_at),
        "spend_limit": text(key.spend_limit),
        "spend_limit_daily": text(key.spend_limit_daily),
        "spend_limit_monthly": text(key.spend_limit_monthly),
        "rate_limit": key.rate_limit.map(rate_facts),
        "allowed_ips": key.range_texts(),
        "max_concurrent": key.max_concurrent,
        "previous_valid_until": text(key.overlap_ends(now)),
    })
}

pub fn rate_facts(rate: RateLimit) -> Value {
    json!({"per_second": rate.per_second, "burst": rate.burst})
}

fn models(key: &ApiKey) -> Vec<&'static str> {
    let allowed = Tier::ALL.iter().filter(|tier| key.allows(**tier));
    allowed.map(|tier| tier.as_str()).collect()
}

fn text(value: Option<impl ToString>) -> Option<String> {
    value.map(|it| it.to_string())
}
