//! Opens, changes, deactivates and reactivates accounts.

pub(crate) mod account_list;
pub mod api_keys;
pub(crate) mod deposits;
pub(crate) mod ledger;
pub mod panel_key;
pub(crate) mod statements;

use self::api_keys::rate_facts;
use crate::application::caller::Caller;
use crate::application::core::Core;
use crate::application::core::audit_context::{Subject, to_audit_entry};
use crate::application::core::change_lock::ChangeGuard;
use crate::application::core::commit::{Change, detached};
use crate::application::error::{self, Error};
use crate::application::fingerprint;
use crate::application::idempotency;
use crate::application::services::AccountService;
use serde_json::{Value, json};
use std::sync::Arc;
use tintype_actors::account::AccountCommand;
use tintype_storage::domain::account::{Account, AccountChange, NewAccount};
use tintype_storage::domain::account_limits::AccountLimits;
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::audit_log::Action;
use tintype_storage::domain::ids::{AccountId, SERVICE, TransactionId};
use tintype_storage::domain::ledger::LedgerEntry;
use tintype_storage::store::{AccountChanged, IdempotencyUse, IdempotentCall, Made};

pub struct OpenedAccount {
    pub account: Account,
    /// An earlier call with this idempotency key opened the account.
    pub is_replay: bool,
}

/// The same text for an unknown id and for a malformed id.
pub fn no_account() -> Error {
    Error::not_found("there is no such account")
}

/// Finds an account that is visible to the caller.
pub async fn find(core: &Core, caller: &Caller, id: AccountId) -> Result<Account, Error> {
    let found = match caller.sees(id) {
        true => core.store.account(id).await?,
        false => None,
    };
    found.ok_or_else(no_account)
}

/// Opens one account per idempotency key.
pub async fn open(
    accounts: &AccountService,
    caller: &Caller,
    new: NewAccount,
    idempotency_key: Option<String>,
) -> Result<OpenedAccount, Error> {
    caller.require_operator()?;
    let mut money = new.balance.unwrap_or_default().to_string();
    if let Some(low) = new.low_balance {
        money = format!("{money} {low}");
    }
    if new.limits.any() {
        money = format!("{money} {}", limit_facts(&new.limits));
    }
    let used = idempotency_key.map(|key| IdempotencyUse {
        fingerprint: fingerprint::of_operator([&new.name, &money]),
        name: key,
    });
    let guard = accounts.core.locks.operator.lock().await?;
    if let Some(account) = opened_before(&accounts.core, used.as_ref()).await? {
        return Ok(OpenedAccount {
            account,
            is_replay: true,
        });
    }
    Ok(OpenedAccount {
        account: create(accounts, guard, caller, new, used).await?,
        is_replay: false,
    })
}

/// Returns the current state of the account that the first use of the key opened.
async fn opened_before(
    core: &Core,
    used: Option<&IdempotencyUse>,
) -> Result<Option<Account>, Error> {
    let Some(used) = used else { return Ok(None) };
    match idempotency::find_same_request(core, IdempotentCall::Opening, SERVICE, used).await? {
        Some(first) => Ok(core.store.account(AccountId(first)).await?),
        None => Ok(None),
    }
}

/// Opens an account. A positive opening balance becomes its first ledger entry.
pub async fn create(
    accounts: &AccountService,
    guard: ChangeGuard,
    caller: &Caller,
    new: NewAccount,
    used: Option<IdempotencyUse>,
) -> Result<Account, Error> {
    let core = &accounts.core;
    let context = caller.require_operator()?;
    let now = core.now();
    let account = new.open(AccountId(core.new_id(now)), now);
    let account = account.map_err(|error| Error::field("balance", error.to_string()))?;
    let balance = account.balances.balance;
    let entry = (!balance.is_zero()).then(|| LedgerEntry {
        reference: Some("opening balance".into()),
        ..LedgerEntry::opening(TransactionId(core.new_id(now)), balance, now)
    });
    let mut writes = core.store.open_account(&account, entry.as_ref());
    if let Some(used) = used {
        let (settings, made) = (&accounts.settings, Made::Account(account.id));
        writes.push(idempotency::record_use(settings, SERVICE, used, made, now));
    }
    let subject = Subject::of(account.id, account.id.0);
    let mut facts = json!({"name": account.name, "balance": balance.to_string()});
    add_terms(&mut facts, &account);
    writes.push(context.record(core, Action::AccountCreate, subject, None, Some(facts)));
    core.commit(Change::under_lock(guard, writes)).await?;
    Ok(account)
}

/// Changes the name, the limits or the active flag of an account.
pub async fn change(
    accounts: &AccountService,
    caller: &Caller,
    account: AccountId,
    change: AccountChange,
) -> Result<Account, Error> {
    let context = caller.require_operator()?;
    let actor = accounts.core.account_actor(account, error::busy).await?;
    let entry = context.entry(
        &accounts.core,
        Action::AccountChange,
        Subject::of(account, account.0),
    );
    let to_entry = move |changed: &AccountChanged| {
        let [before, after] = [&changed.before, &changed.after].map(|it| Some(facts(it)));
        to_audit_entry(entry.clone(), before, after)
    };
    let cache = Arc::clone(&accounts.auth.api_keys);
    // Detached: the cache must drop the keys of a deactivated account even if the caller disconnects.
    detached(async move {
        let changed = actor.call(|reply| AccountCommand::Change {
            change,
            to_entry: Some(Box::new(to_entry)),
            reply,
        });
        let account = changed.await??;
        cache.invalidate_account(account.id);
        Ok(account)
    })
    .await
}

/// The fields of an account that the audit log records.
fn facts(account: &Account) -> Value {
    let mut facts = json!({"name": account.name, "active": account.active});
    add_terms(&mut facts, account);
    facts
}

fn add_terms(facts: &mut Value, account: &Account) {
    if let Some(low) = account.low_balance {
        facts["low_balance"] = low.to_string().into();
    }
    if account.limits.any() {
        facts["limits"] = limit_facts(&account.limits);
    }
}

fn limit_facts(limits: &AccountLimits) -> Value {
    let text = |amount: Option<Amount>| amount.map(|it| it.to_string());
    json!({
        "spend_per_day": text(limits.spend_per_day),
        "spend_per_month": text(limits.spend_per_month),
        "rate_limit": limits.rate_limit.map(rate_facts),
        "max_concurrent": limits.max_concurrent,
    })
}
