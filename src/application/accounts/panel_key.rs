//! The API key to which the panel's playground charges images. Its value is discarded when it is issued. It does not count towards the
//! limit of keys of its account.

use super::api_keys;
use crate::application::caller::Caller;
use crate::application::caller::payer::Payer;
use crate::application::caller::person_access::PersonAccess;
use crate::application::core::Core;
use crate::application::error::{Error, ErrorKind};
use crate::application::limits::rate_limit::RateStates;
use crate::application::services::AccountService;
use std::sync::Arc;
use tintype_storage::domain::account::Account;
use tintype_storage::domain::api_key::ApiKey;
use tintype_storage::domain::caller::CallerRefusal;
use tintype_storage::domain::ids::AccountId;
use tintype_storage::store::StoreError;
use tintype_storage::store::tables::PANEL_KEYS;

const NAME: &str = "panel";

/// Finds or issues the account's panel key. A deactivated or restricted key stays as it is.
///
/// # Errors
/// `Forbidden`
pub async fn payer(
    accounts: &AccountService,
    caller: &Caller,
    account: &Account,
) -> Result<Payer, Error> {
    let audit = caller.authorize_change(account)?.clone();
    let key = find_or_issue(&accounts.core, caller, account.id).await?;
    if let Err(reason) = key.admit(account.active, accounts.core.now()) {
        return Err(refusal(&key, &reason.to_string()));
    }
    let address = audit.address();
    if !address.map_or(key.allowed_ips.is_empty(), |it| key.admits_from(it)) {
        let reason = CallerRefusal::Address(address);
        return Err(refusal(&key, &reason.to_string()));
    }
    // The default rate of API keys is for programs; people have a rate of their own.
    let limited = Some(&key).filter(|it| it.rate_limit.is_some());
    let of_key = limited.and_then(|key| accounts.limits.keys.count(key));
    let rate = account.limits.rate_limit;
    let counted = RateStates::new(of_key, account.id, rate, &accounts.limits.accounts);
    Ok(Payer {
        key: Arc::new(key),
        shown: None,
        counted,
        before_jobs: None,
        audit: Some(audit),
        person: match caller {
            Caller::Person { person, .. } => Some(PersonAccess::of(person)),
            Caller::ApiKey(_) | Caller::Operator { .. } => None,
        },
    })
}

/// The error for a person whose panel key is refused.
pub fn refusal(key: &ApiKey, reason: &str) -> Error {
    let name = &key.name;
    let detail = format!("{reason}: the key named `{name}`, which the playground uses");
    Error::new(ErrorKind::Forbidden, detail)
}

async fn find_or_issue(core: &Core, caller: &Caller, account: AccountId) -> Result<ApiKey, Error> {
    // Without the lock, so that playground calls do not wait for changes.
    if let Some(key) = find(core, account).await? {
        return Ok(key);
    }
    let guard = core.locks.operator.lock().await?;
    // Read again under the lock: another caller may have issued it.
    if let Some(key) = find(core, account).await? {
        return Ok(key);
    }
    let context = caller.reauthorize_change(core, account).await?;
    let named = |key| ApiKey {
        name: NAME.into(),
        ..key
    };
    let note = |key: &ApiKey| vec![PANEL_KEYS.put(&account, &key.id)];
    let (_, key) = api_keys::store_new(core, guard, context, account, named, note).await?;
    Ok(key)
}

async fn find(core: &Core, account: AccountId) -> Result<Option<ApiKey>, StoreError> {
    match PANEL_KEYS.get(&core.store, &account).await? {
        Some(id) => Ok(core.store.key(id).await?.map(|(_, key)| key)),
        None => Ok(None),
    }
}
