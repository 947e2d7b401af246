//! Erases the personal data of an account on request, step by step. Its record, ledger and daily usage stay.
//!
//! Each step is idempotent and commits little, so an erasure that was interrupted is repeated from the start. The new name, which is
//! the last change, shows that it is complete.

use super::jobs::{delete_objects, erase_attempts};
use crate::application::accounts::{self, no_account};
use crate::application::caller::Caller;
use crate::application::core::Core;
use crate::application::core::audit_context::{AuditContext, Subject, to_audit_entry};
use crate::application::core::change_lock::ChangeGuard;
use crate::application::core::commit::{Change, detached};
use crate::application::error::{self, Error};
use crate::application::file_batches::uploaded_files;
use crate::application::paging::Window;
use crate::application::services::{AccountService, JobService};
use crate::objects::NamedObject;
use serde_json::json;
use std::collections::HashSet;
use std::sync::Arc;
use tintype_actors::account::AccountCommand;
use tintype_storage::domain::account::AccountChange;
use tintype_storage::domain::api_key::{ApiKey, DeletedKey};
use tintype_storage::domain::audit_log::Action;
use tintype_storage::domain::delivery::DeliveryId;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::job::ERASED;
use tintype_storage::engine::Direction;
use tintype_storage::store::tables::{
    BATCHES, DAILY_USAGE, DELETED_API_KEYS, DELIVERIES, FILE_BATCHES, PEOPLE, UPLOADED_FILES,
};
use tintype_storage::store::{AccountChanged, DailyUsageKey, Part, Writes};
use uuid::Uuid;

/// Records read, and changed in one commit.
const STEP: usize = 50;

/// Jobs that one call has erased, and where the next call continues.
pub struct ErasedJobs {
    pub count: usize,
    /// `None`: the account is erased.
    pub next: Option<JobId>,
}

/// Deactivates an account and erases its newest jobs after `window.after`, to the end even if the caller disconnects. After the last
/// job, erases the rest of the account.
///
/// # Errors
/// `NotFound`; `Forbidden`; `Conflict` while a job has not ended; `StorageUnavailable`: a repeated call continues
pub async fn erase(
    service: &Arc<AccountService>,
    jobs: &Arc<JobService>,
    caller: &Caller,
    account: AccountId,
    window: Window,
) -> Result<ErasedJobs, Error> {
    let audit = caller.operate()?.clone();
    let (service, jobs, caller) = (Arc::clone(service), Arc::clone(jobs), caller.clone());
    detached(async move {
        let core = &jobs.core;
        check_jobs_ended(core, account).await?;
        let found = core.store.account(account).await?;
        if found.ok_or_else(no_account)?.active {
            let change = AccountChange {
                active: Some(false),
                ..AccountChange::default()
            };
            accounts::change(&service, &caller, account, change).await?;
            // A job may have been accepted before the change.
            check_jobs_ended(core, account).await?;
        }
        let below = window.after.map(|id| JobId(Uuid::from_bytes(id)));
        let found = erase_jobs(&jobs, account, below, window.limit).await?;
        if found.next.is_none() {
            erase_rest(&service, &jobs, account).await?;
            mark(core, &audit, account).await?;
        }
        Ok(found)
    })
    .await
}

async fn check_jobs_ended(core: &Core, account: AccountId) -> Result<(), Error> {
    let live = core.store.jobs_of(account, Part::Live, None, None, 1);
    match live.await?.is_empty() {
        true => Ok(()),
        false => Err(Error::conflict(
            "the account has jobs that have not ended; deactivate it, cancel them or wait until they end, and repeat the call",
        )),
    }
}

/// Erases up to `limit` ended jobs below an id.
async fn erase_jobs(
    jobs: &JobService,
    account: AccountId,
    below: Option<JobId>,
    limit: usize,
) -> Result<ErasedJobs, Error> {
    let core = &jobs.core;
    // Retention and the search index change the same records under this lock.
    let guard = core.locks.favourites.lock().await?;
    let found = core.store.jobs_of(account, Part::Ended, below, None, limit);
    let mut found = found.await?;
    let (count, last) = (found.len(), found.last().map(|job| job.id));
    found.reverse();
    let writes = core.store.erase_jobs(account, &found, core.now()).await?;
    commit(core, guard, writes).await?;
    for page in found.chunks(STEP) {
        let deliveries = page.iter().map(|job| DeliveryId(job.id.0));
        erase_attempts(core, account, deliveries.collect()).await?;
        for job in page {
            delete_objects(jobs, NamedObject::of_job(job)).await?;
        }
    }
    let next = last.filter(|_| count == limit);
    Ok(ErasedJobs { count, next })
}

/// Commits what was decided under a lock, unless a repeated erasure has nothing to change.
async fn commit(core: &Core, guard: ChangeGuard, writes: Writes) -> Result<(), Error> {
    if !writes.is_empty() {
        core.commit(Change::under_lock(guard, writes)).await?;
    }
    Ok(())
}

/// Everything but the jobs.
async fn erase_rest(
    accounts: &AccountService,
    jobs: &Arc<JobService>,
    account: AccountId,
) -> Result<(), Error> {
    erase_batches(jobs, account).await?;
    erase_deliveries(&jobs.core, account).await?;
    delete_files(jobs, account).await?;
    delete_people(&jobs.core, account).await?;
    delete_webhooks(&jobs.core, account).await?;
    delete_keys(accounts, account).await?;
    rename_deleted_keys(&jobs.core, account).await
}

/// Erases pages of records until one has no next page. `erase` gets the id after which its page begins, and returns the next one.
async fn each_page(
    mut erase: impl AsyncFnMut(Option<[u8; 16]>) -> Result<Option<[u8; 16]>, Error>,
) -> Result<(), Error> {
    let mut after = None;
    loop {
        after = erase(after).await?;
        if after.is_none() {
            return Ok(());
        }
    }
}

/// Erases the metadata of batches, with that of their files.
async fn erase_batches(jobs: &JobService, account: AccountId) -> Result<(), Error> {
    let core = &jobs.core;
    // Both hold the lock of the sweeps that delete old batches: the change must not restore a deleted record.
    each_page(async |after| {
        let guard = core.locks.favourites.lock().await?;
        let page = BATCHES.page(&core.store, &account, STEP, after).await?;
        let erased = page.items.iter();
        let erased = erased.map(|it| BATCHES.put(&(account, it.id), &it.erased()));
        commit(core, guard, erased.collect()).await?;
        for batch in &page.items {
            delete_objects(jobs, NamedObject::of_batch(batch)).await?;
        }
        Ok(page.next)
    })
    .await?;
    each_page(async |after| {
        let guard = core.locks.favourites.lock().await?;
        let page = FILE_BATCHES.page(&core.store, &account, STEP, after);
        let page = page.await?;
        let erased = page.items.iter();
        let erased = erased.map(|it| FILE_BATCHES.put(&(account, it.id), &it.erased()));
        commit(core, guard, erased.collect()).await?;
        Ok(page.next)
    })
    .await
}

/// Erases what all deliveries have sent and received, those of tests and of batches too. Those of jobs again: an attempt whose payload was
/// built before its job was erased may be recorded after that.
async fn erase_deliveries(core: &Core, account: AccountId) -> Result<(), Error> {
    each_page(async |after| {
        let page = DELIVERIES.page(&core.store, &account, STEP, after).await?;
        let deliveries = page.items.iter().map(|it| it.id);
        erase_attempts(core, account, deliveries.collect()).await?;
        Ok(page.next)
    })
    .await
}

async fn delete_files(jobs: &Arc<JobService>, account: AccountId) -> Result<(), Error> {
    loop {
        let page = UPLOADED_FILES.page(&jobs.core.store, &account, STEP, None);
        let page = page.await?;
        if page.items.is_empty() {
            return Ok(());
        }
        for file in page.items {
            uploaded_files::delete(jobs, file).await?;
        }
    }
}

async fn delete_people(core: &Core, account: AccountId) -> Result<(), Error> {
    let guard = core.locks.people.lock().await?;
    let all = PEOPLE.range(&account);
    let all = PEOPLE.scan(&core.store, &all, Direction::Rising, usize::MAX);
    let people = all.await?.into_iter();
    let writes = people.flat_map(|(_, person)| core.store.remove_person(&person));
    commit(core, guard, writes.collect()).await
}

async fn delete_webhooks(core: &Core, account: AccountId) -> Result<(), Error> {
    let guard = core.locks.operator.lock().await?;
    let webhooks = core.store.webhooks(account).await?.into_iter();
    let writes = webhooks.flat_map(|webhook| core.store.remove_webhook(&webhook));
    commit(core, guard, writes.collect()).await
}

async fn delete_keys(accounts: &AccountService, account: AccountId) -> Result<(), Error> {
    let core = &accounts.core;
    loop {
        let guard = core.locks.operator.lock().await?;
        let page = core.store.keys_of(account, 1, None).await?;
        let Some(id) = page.items.first().map(|key| key.id) else {
            return Ok(());
        };
        let Some((hash, key)) = core.store.key(id).await? else {
            continue;
        };
        let unnamed = ApiKey {
            name: ERASED.into(),
            ..key.clone()
        };
        let writes = core.store.remove_key(&hash, &unnamed, core.now());
        let (cache, gone) = (Arc::clone(&accounts.auth.api_keys), key.clone());
        let change = Change::under_lock(guard, writes).then(move || {
            cache.invalidate(&hash, &gone);
            cache.remove_use(id);
        });
        core.commit_key(&key, None, change).await?;
    }
}

/// Renames the keys that were deleted earlier. The daily usage names them: other records of deleted keys do not know their account.
async fn rename_deleted_keys(core: &Core, account: AccountId) -> Result<(), Error> {
    let mut keys = HashSet::new();
    let visit = |usage: DailyUsageKey, _| {
        keys.insert(usage.key);
        Ok(())
    };
    DAILY_USAGE.each(&core.store, &account, visit).await?;
    for id in keys {
        let deleted = DELETED_API_KEYS.get(&core.store, &id).await?;
        if let Some(deleted) = deleted.filter(|it| it.name != ERASED) {
            let unnamed = DeletedKey {
                name: ERASED.into(),
                ..deleted
            };
            core.commit(vec![DELETED_API_KEYS.put(&id, &unnamed)])
                .await?;
        }
    }
    Ok(())
}

/// Gives the account its last name, with the only entry of the erasure in the audit log.
async fn mark(core: &Core, audit: &AuditContext, account: AccountId) -> Result<(), Error> {
    let id = account.to_string();
    let name = format!("{ERASED}-{}", id.split('-').next().unwrap_or_default());
    let entry = audit.entry(core, Action::AccountErase, Subject::of(account, account.0));
    let facts = json!({"name": name});
    let to_entry =
        move |_: &AccountChanged| to_audit_entry(entry.clone(), None, Some(facts.clone()));
    let change = AccountChange {
        name: Some(name),
        ..AccountChange::default()
    };
    let actor = core.account_actor(account, error::busy).await?;
    let renamed = actor.call(|reply| AccountCommand::Change {
        change,
        to_entry: Some(Box::new(to_entry)),
        reply,
    });
    renamed.await??;
    Ok(())
}
