//! Every record of the store, whatever its kind: it can be read, it lies where it is looked for, and what leads to another
//! record leads to one that is there.

use super::Report;
use crate::domain::api_key::KeyHash;
use crate::domain::delivery::{Attempt, Delivery};
use crate::domain::ids::{AccountId, JobId, KeyId, TransactionId};
use crate::domain::job::Job;
use crate::domain::ledger::LedgerEntry;
use crate::domain::person::{Person, Session};
use crate::domain::spending::KeySpending;
use crate::domain::tally::Tally;
use crate::domain::time::Timestamp;
use crate::domain::webhook::{Webhook, WebhookId};
use crate::domain::{account::Account, api_key::ApiKey, audit_log::AuditEntry};
use crate::store::{
    DueDelivery, Form, IdempotencyRecord, IdempotentCall, Kind, PersonPlace, Record, Store,
    StoreError, decode, keys,
};
use std::fmt::Display;
use uuid::Uuid;

/// Audits all records. What can be read nowhere else is told as a fault here.
pub(super) fn audit(store: &Store, report: &mut Report) -> Result<(), StoreError> {
    store.each_record(|key, value| {
        report.records += 1;
        match fault_of(store, key, value) {
            Ok(None) => {}
            Ok(Some(fault)) => report.fault(fault),
            Err(StoreError::Damaged { kind, reason }) => report.fault(format!(
                "the {kind} record {} is damaged: {reason}",
                hex::encode(key)
            )),
            Err(error) => return Err(error),
        }
        Ok(())
    })
}

/// What is wrong with one record, if anything.
fn fault_of(store: &Store, key: &[u8], value: &[u8]) -> Result<Option<String>, StoreError> {
    let Some(kind) = Kind::of(key) else {
        return Ok(Some(format!(
            "there is a record {} of no known kind",
            hex::encode(key)
        )));
    };
    match kind {
        Kind::Account => own(key, value, |it: &Account| (keys::account(it.id), it.id)),
        Kind::LiveJob => own(key, value, |it: &Job| {
            (keys::live_job(it.account, it.id), it.id)
        }),
        Kind::EndedJob => own(key, value, |it: &Job| {
            (keys::ended_job(it.account, it.id), it.id)
        }),
        Kind::Ledger => {
            // An entry does not say whose it is.
            let account = keys::account_of_entry(key).unwrap_or(AccountId(Uuid::nil()));
            own(key, value, |it: &LedgerEntry| {
                (keys::ledger_entry(account, it.id), it.id)
            })
        }
        Kind::Webhook => {
            let webhook: Webhook = decode(value)?;
            if key != keys::webhook(webhook.account, webhook.id) {
                return Ok(Some(misplaced::<Webhook>(webhook.id, key)));
            }
            let found = store.find_webhook(webhook.id)?;
            let is_found = found.is_some_and(|it| it.account == webhook.account);
            Ok((!is_found).then(|| format!("webhook {} is not found by its id", webhook.id)))
        }
        Kind::Delivery => own(key, value, |it: &Delivery| {
            (keys::delivery(it.account, it.id), it.id)
        }),
        Kind::Person => own(key, value, |it: &Person| {
            (keys::person(it.account, it.id), it.id)
        }),
        Kind::KeyByHash => of_key(store, key, value),
        Kind::KeyById => {
            let hash: KeyHash = decode(value)?;
            let found = store.key_by_hash(&hash)?;
            Ok(dangling(key, found.map(|it| keys::key_by_id(it.id))))
        }
        Kind::KeyOfAccount => {
            let hash: KeyHash = decode(value)?;
            let found = store.key_by_hash(&hash)?;
            let place = found.map(|it| keys::key_of_account(it.account, it.id));
            Ok(dangling(key, place))
        }
        Kind::RetiredHash => {
            let found = store.key(decode::<KeyId>(value)?)?;
            let retired = found.map(|(_, key)| key.retired).unwrap_or_default();
            let place = retired.iter().map(|it| keys::retired_hash(&it.hash));
            Ok(dangling(key, place.into_iter().find(|place| place == key)))
        }
        Kind::WebhookAccount => {
            let account: AccountId = decode(value)?;
            let id = keys::last_id(key).map(|id| WebhookId(Uuid::from_bytes(id)));
            let found = match id {
                Some(id) => store.webhook(account, id)?,
                None => None,
            };
            Ok(dangling(key, found.map(|it| keys::webhook_account(it.id))))
        }
        Kind::PersonByEmail => {
            let place: PersonPlace = decode(value)?;
            let found = store.person(place.account, place.person)?;
            Ok(dangling(key, found.map(|it| keys::person_of(&it.email))))
        }
        Kind::Idempotency => of_idempotency(store, key, value),
        Kind::Tally => {
            decode::<Tally>(value)?;
            let is_place = keys::read_tally(key).is_some();
            Ok((!is_place).then(|| misplaced::<Tally>("of a key", key)))
        }
        Kind::KeySpent => read::<KeySpending>(value),
        Kind::KeyLastUse => read::<Timestamp>(value),
        Kind::Session => read::<Session>(value),
        // Each of these against its place elsewhere: see there.
        Kind::Audit => read::<AuditEntry>(value),
        Kind::DeliveryAccount => read::<AccountId>(value),
        Kind::DeliveryDue => read::<DueDelivery>(value),
        Kind::Attempt => read::<Attempt>(value),
        Kind::Setting => match Form::of(key) {
            Some(form) => form.to_json(value).map(|_| None),
            None => Ok(Some(format!(
                "there is a setting of no known name, {}",
                String::from_utf8_lossy(&key[1..]).escape_debug()
            ))),
        },
    }
}

/// A record that names its own place.
fn own<R: Record, I: Display>(
    key: &[u8],
    value: &[u8],
    place: impl FnOnce(&R) -> (Vec<u8>, I),
) -> Result<Option<String>, StoreError> {
    let (place, id) = place(&decode(value)?);
    Ok((place != key).then(|| misplaced::<R>(id, key)))
}

/// A record whose place nothing in it tells.
fn read<R: Record>(value: &[u8]) -> Result<Option<String>, StoreError> {
    decode::<R>(value).map(|_| None)
}

fn misplaced<R: Record>(id: impl Display, key: &[u8]) -> String {
    format!(
        "the {} record {id} lies in another's place, {}",
        R::NAME,
        hex::encode(key)
    )
}

/// An entry of an index, and the place of an entry that leads to what it leads to.
fn dangling(key: &[u8], place: Option<Vec<u8>>) -> Option<String> {
    (place.as_deref() != Some(key)).then(|| {
        format!(
            "an index leads from {} to what is not there, or is another's",
            hex::encode(key)
        )
    })
}

/// A key can be found by its id and in its account's list: else it opens the door and cannot be shut out.
fn of_key(store: &Store, key: &[u8], value: &[u8]) -> Result<Option<String>, StoreError> {
    let found: ApiKey = decode(value)?;
    let by_id = store
        .key(found.id)?
        .map(|(hash, _)| keys::key_by_hash(&hash));
    let listed = store.key_hash_of(found.account, found.id)?;
    let listed = listed.map(|hash| keys::key_by_hash(&hash));
    Ok(
        match (
            by_id.as_deref() == Some(key),
            listed.as_deref() == Some(key),
        ) {
            (true, true) => None,
            (false, _) => Some(format!("key {} is not found by its id", found.id)),
            (true, false) => Some(format!(
                "key {} is not in the list of account {}",
                found.id, found.account
            )),
        },
    )
}

/// What an idempotency key was used for is there.
fn of_idempotency(store: &Store, key: &[u8], value: &[u8]) -> Result<Option<String>, StoreError> {
    let record: IdempotencyRecord = decode(value)?;
    let Some((account, call, expires_at)) = keys::read_idempotency(key) else {
        return Ok(Some(misplaced::<IdempotencyRecord>(record.made, key)));
    };
    if expires_at != record.expires_at {
        return Ok(Some(misplaced::<IdempotencyRecord>(record.made, key)));
    }
    let (what, is_there) = match call {
        IdempotentCall::Generation => ("job", store.job(account, JobId(record.made))?.is_some()),
        IdempotentCall::Deposit => (
            "deposit",
            store
                .ledger_entry(account, TransactionId(record.made))?
                .is_some(),
        ),
        IdempotentCall::Opening => ("account", store.account(AccountId(record.made))?.is_some()),
    };
    Ok((!is_there).then(|| {
        format!(
            "account {account}: an idempotency key stands for {what} {}, which is not there",
            record.made
        )
    }))
}
