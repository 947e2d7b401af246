//! Checks every record: it can be decoded, it matches its key, and its references exist.

use super::Report;
use crate::domain::ids::JobId;
use crate::engine::KeyRange;
use crate::engine::Wait as _;
use crate::store::tables::{
    API_KEYS, API_KEYS_BY_ID, API_KEYS_OF_ACCOUNT, DELETED_IMAGES, EXPIRIES, FAVOURITE_ACCOUNTS,
    FAVOURITES, IDEMPOTENCY, LEDGER, PEOPLE, PEOPLE_BY_EMAIL, RETIRED_API_KEYS, WEBHOOK_ACCOUNTS,
    WEBHOOKS, table_of, unknown_key,
};
use crate::store::{
    IdempotencyKey, IdempotencyRecord, Made, Store, StoreError, each_pair, email_hash,
};
use uuid::Uuid;

/// Reports records that no other check reads, too.
pub(super) fn verify(store: &Store, report: &mut Report) -> Result<(), StoreError> {
    each_pair(store, KeyRange::prefix(b""), |key, value| {
        report.records += 1;
        match fault_of(store, key, value) {
            Ok(None) => {}
            Ok(Some(fault)) => report.fault(fault),
            Err(StoreError::Damaged { kind, reason }) => report.fault(format!(
                "the {kind} record {} is damaged: {reason}",
                hex::encode(key)
            )),
            Err(error @ StoreError::NewerFormat { .. }) => {
                report.fault(format!("the record {}: {error}", hex::encode(key)));
            }
            Err(error) => return Err(error),
        }
        Ok(())
    })
    .wait()
}

fn fault_of(store: &Store, key: &[u8], value: &[u8]) -> Result<Option<String>, StoreError> {
    let Some(table) = table_of(key) else {
        return Ok(Some(format!(
            "the record {} is of an unknown kind; a newer version of Tintype may have written it",
            unknown_key(key)
        )));
    };
    if !table.fits(key, value)? {
        let (name, key) = (table.name(), hex::encode(key));
        return Ok(Some(format!(
            "the {name} record {key} does not match its key"
        )));
    }
    if let Some((key, record)) = IDEMPOTENCY.entry(key, value)? {
        return missing_reference(store, &key, &record);
    }
    if is_dangling(store, key, value)? {
        let key = hex::encode(key);
        return Ok(Some(format!(
            "the index entry {key} points to a record that does not exist or does not match"
        )));
    }
    missing_index_entry(store, key, value)
}

/// Is this an index entry whose record is missing or does not refer back?
fn is_dangling(store: &Store, key: &[u8], value: &[u8]) -> Result<bool, StoreError> {
    if let Some((id, hash)) = API_KEYS_BY_ID.entry(key, value)? {
        let found = API_KEYS.get(store, &hash).wait()?;
        return Ok(found.is_none_or(|it| it.id != id));
    }
    if let Some((of, hash)) = API_KEYS_OF_ACCOUNT.entry(key, value)? {
        let found = API_KEYS.get(store, &hash).wait()?;
        return Ok(found.is_none_or(|it| (it.account, it.id) != of));
    }
    if let Some((hash, id)) = RETIRED_API_KEYS.entry(key, value)? {
        let retired = store.key(id).wait()?.map(|(_, key)| key.retired);
        return Ok(!retired.into_iter().flatten().any(|it| it.hash == hash));
    }
    if let Some(((_, job), account)) = EXPIRIES.entry(key, value)? {
        // A job may end long before its deadline, and be deleted.
        let is_missing = store.job(account, job).wait()?.is_none();
        return Ok(is_missing && !may_be_forgotten(store, job.0)?);
    }
    if let Some(((account, job), _)) = FAVOURITES.entry(key, value)? {
        return Ok(store.job(account, job).wait()?.is_none());
    }
    if let Some(((account, job), _)) = DELETED_IMAGES.entry(key, value)? {
        return Ok(store.job(account, job).wait()?.is_none());
    }
    if let Some((job, account)) = FAVOURITE_ACCOUNTS.entry(key, value)? {
        return Ok(!store.is_favourite(account, job).wait()?);
    }
    if let Some((id, account)) = WEBHOOK_ACCOUNTS.entry(key, value)? {
        return Ok(WEBHOOKS.get(store, &(account, id)).wait()?.is_none());
    }
    if let Some((hash, person)) = PEOPLE_BY_EMAIL.entry(key, value)? {
        let found = PEOPLE.get(store, &(person.account, person.person)).wait()?;
        return Ok(found.is_none_or(|it| email_hash(&it.email) != hash));
    }
    Ok(false)
}

/// Reports an API key, a webhook or a favourite that an index lacks. Such a key works but cannot be revoked, and the image of
/// such a favourite is deleted.
fn missing_index_entry(
    store: &Store,
    key: &[u8],
    value: &[u8],
) -> Result<Option<String>, StoreError> {
    if let Some((hash, found)) = API_KEYS.entry(key, value)? {
        if API_KEYS_BY_ID.get(store, &found.id).wait()? != Some(hash) {
            return Ok(Some(format!("key {} is not found by its id", found.id)));
        }
        let listed = API_KEYS_OF_ACCOUNT
            .get(store, &(found.account, found.id))
            .wait()?;
        return Ok((listed != Some(hash)).then(|| {
            format!(
                "key {} is not in the list of account {}",
                found.id, found.account
            )
        }));
    }
    if let Some(((account, id), _)) = WEBHOOKS.entry(key, value)? {
        let listed = WEBHOOK_ACCOUNTS.get(store, &id).wait()?;
        return Ok(
            (listed != Some(account)).then(|| format!("webhook {id} is not found by its id"))
        );
    }
    if let Some(((account, job), _)) = FAVOURITES.entry(key, value)? {
        let listed = FAVOURITE_ACCOUNTS.get(store, &job).wait()?;
        return Ok(
            (listed != Some(account)).then(|| format!("favourite {job} is not found by its job"))
        );
    }
    Ok(None)
}

/// May the job or batch with this id have been deleted after its retention?
pub(super) fn may_be_forgotten(store: &Store, id: Uuid) -> Result<bool, StoreError> {
    Ok(id < JobId::first_of(store.ids_forgotten().wait()?).0)
}

/// The fault of an idempotency key that refers to something that does not exist.
fn missing_reference(
    store: &Store,
    key: &IdempotencyKey,
    record: &IdempotencyRecord,
) -> Result<Option<String>, StoreError> {
    let (account, made) = (key.account, record.made);
    let (what, is_there) = match made {
        Made::Job(id) => ("job", store.job(account, id).wait()?.is_some()),
        Made::Batch(id) => ("batch", store.knows_batch(account, id).wait()?),
        Made::Entry(id) => {
            let entry = LEDGER.get(store, &(account, id)).wait()?;
            ("deposit", entry.is_some())
        }
        Made::Account(id) => ("account", store.account(id).wait()?.is_some()),
    };
    let is_forgotten = match made {
        Made::Job(id) => may_be_forgotten(store, id.0)?,
        Made::Batch(id) => {
            may_be_forgotten(store, id.0)? || store.may_be_forgotten_failure(id).wait()?
        }
        Made::Entry(_) | Made::Account(_) => false,
    };
    if is_there || is_forgotten {
        return Ok(None);
    }
    let id = made.id();
    Ok(Some(format!(
        "account {account}: an idempotency key refers to {what} {id}, which does not exist"
    )))
}
