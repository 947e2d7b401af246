//! Erases the personal data of an account on request, phase by phase. Its record, ledger and daily usage stay.
//!
//! Each phase is idempotent and commits little, so an erasure that was interrupted is repeated from the start. The new name, which is
//! the last change, shows that it is complete.

use super::jobs::{delete_objects, erase_attempts, texts_of};
use super::texts::{delete_texts, portions};
use crate::application::accounts::{self, no_account};
use crate::application::caller::Caller;
use crate::application::core::Core;
use crate::application::core::audit_context::{AuditContext, Subject, to_audit_entry};
use crate::application::core::change_lock::ChangeGuard;
use crate::application::core::commit::{Change, detached};
use crate::application::error::{self, Error};
use crate::application::file_batches::uploaded_files;
use crate::application::images::interrupted_deletions;
use crate::application::services::{AccountService, JobService};
use crate::objects::NamedObject;
use serde_json::json;
use std::collections::HashSet;
use std::fmt::{self, Display, Formatter};
use std::sync::Arc;
use tintype_actors::account::AccountCommand;
use tintype_storage::domain::account::AccountChange;
use tintype_storage::domain::api_key::{ApiKey, DeletedKey};
use tintype_storage::domain::audit_log::Action;
use tintype_storage::domain::delivery::DeliveryId;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::job::{ERASED, Job};
use tintype_storage::engine::Direction;
use tintype_storage::store::tables::{
    BATCHES, DAILY_USAGE, DELETED_API_KEYS, DELETED_IMAGES, DELIVERIES, FILE_BATCHES, PEOPLE,
    UPLOADED_FILES,
};
use tintype_storage::store::{AccountChanged, DailyUsageKey, JobRange, Part, Writes};
use uuid::Uuid;

/// Records read, and changed in one commit.
const RECORDS_PER_COMMIT: usize = 50;
/// Digits of its id in the name of an erased account.
const NAME_DIGITS: usize = 8;

/// The number of jobs that one call has read, all of which are erased, and where the next call continues.
pub struct ErasureProgress {
    pub count: usize,
    /// `None`: the account is erased.
    pub next: Option<Cursor>,
}

/// Where an erasure continues.
#[derive(Clone, Copy)]
pub struct Cursor {
    phase: Phase,
    /// The last id of the previous call in this phase.
    after: Option<[u8; 16]>,
}

/// In the order of an erasure. A call ends after a page that is not the last one of its phase.
#[derive(Clone, Copy)]
enum Phase {
    Jobs,
    Batches,
    FileBatches,
    Deliveries,
    /// All that the account has few of.
    SmallRecords,
}

impl Cursor {
    pub const START: Self = Self {
        phase: Phase::Jobs,
        after: None,
    };

    /// Parses what [`Display`] has written.
    pub fn parse(text: &str) -> Option<Self> {
        let (phase, id) = text.split_at_checked(1)?;
        let phase = Phase::ALL.into_iter().find(|it| it.letter() == phase)?;
        let after = match id {
            "" => None,
            id => Some(Uuid::try_parse(id).ok()?.into_bytes()),
        };
        Some(Self { phase, after })
    }
}

impl Display for Cursor {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.phase.letter())?;
        let id = self.after.map(Uuid::from_bytes);
        id.map_or(Ok(()), |id| id.simple().fmt(f))
    }
}

impl Phase {
    const ALL: [Self; 5] = [
        Self::Jobs,
        Self::Batches,
        Self::FileBatches,
        Self::Deliveries,
        Self::SmallRecords,
    ];

    fn letter(self) -> &'static str {
        match self {
            Self::Jobs => "j",
            Self::Batches => "b",
            Self::FileBatches => "f",
            Self::Deliveries => "d",
            Self::SmallRecords => "r",
        }
    }
}

/// Deactivates an account and erases it from a cursor on, up to `limit` records of each kind: its newest jobs first. Continues to the end
/// of the call even if the caller disconnects.
///
/// # Errors
/// `NotFound`; `Forbidden`; `Conflict` while a job has not ended; `StorageUnavailable`: a repeated call continues
pub async fn erase(
    service: &Arc<AccountService>,
    jobs: &Arc<JobService>,
    caller: &Caller,
    account: AccountId,
    from: Cursor,
    limit: usize,
) -> Result<ErasureProgress, Error> {
    let audit = caller.require_operator()?.clone();
    let (service, jobs, caller) = (Arc::clone(service), Arc::clone(jobs), caller.clone());
    detached(async move {
        let core = &jobs.core;
        // What was stored since the last call of an active account may be newer than its cursor.
        let from = match deactivate(&service, &caller, account).await? {
            true => Cursor::START,
            false => from,
        };
        let mut count = 0;
        let (mut phase, mut after) = (from.phase, from.after);
        loop {
            let (next, following) = match phase {
                Phase::Jobs => {
                    let (read, next) = erase_jobs(&jobs, account, after, limit).await?;
                    count += read;
                    (next, Phase::Batches)
                }
                Phase::Batches => {
                    let next = erase_batches(&jobs, account, after, limit).await?;
                    (next, Phase::FileBatches)
                }
                Phase::FileBatches => {
                    let next = erase_file_batches(core, account, after, limit).await?;
                    (next, Phase::Deliveries)
                }
                Phase::Deliveries => {
                    let next = erase_deliveries(core, account, after, limit).await?;
                    (next, Phase::SmallRecords)
                }
                Phase::SmallRecords => {
                    erase_small_records(&service, &jobs, account).await?;
                    if has_content(core, account).await? {
                        let next = Some(Cursor::START);
                        return Ok(ErasureProgress { count, next });
                    }
                    finish_erasure(core, &audit, account).await?;
                    return Ok(ErasureProgress { count, next: None });
                }
            };
            if let Some(last) = next {
                let after = Some(last);
                let next = Some(Cursor { phase, after });
                return Ok(ErasureProgress { count, next });
            }
            (phase, after) = (following, None);
        }
    })
    .await
}

/// Returns whether the account was active.
///
/// # Errors
/// `NotFound`; `Conflict` while a job has not ended
async fn deactivate(
    service: &Arc<AccountService>,
    caller: &Caller,
    account: AccountId,
) -> Result<bool, Error> {
    let core = &service.core;
    check_jobs_ended(core, account).await?;
    let found = core.store.account(account).await?;
    let was_active = found.ok_or_else(no_account)?.active;
    if was_active {
        let change = AccountChange {
            active: Some(false),
            ..AccountChange::default()
        };
        accounts::change(service, caller, account, change).await?;
        // A job may have been accepted before the change.
        check_jobs_ended(core, account).await?;
    }
    Ok(was_active)
}

async fn check_jobs_ended(core: &Core, account: AccountId) -> Result<(), Error> {
    let live = core.store.jobs_of(account, Part::Live, JobRange::ALL, 1);
    match live.await?.is_empty() {
        true => Ok(()),
        false => Err(Error::conflict(
            "the account has jobs that have not ended; deactivate it, cancel them or wait until they end, and repeat the call",
        )),
    }
}

/// Erases up to `limit` ended jobs below an id, and completes the deletion of the images of erased ones. Returns the number of jobs, and the
/// last one unless it is the oldest.
async fn erase_jobs(
    jobs: &JobService,
    account: AccountId,
    below: Option<[u8; 16]>,
    limit: usize,
) -> Result<(usize, Option<[u8; 16]>), Error> {
    let core = &jobs.core;
    let range = JobRange::below(below.map(|id| JobId(Uuid::from_bytes(id))));
    let page = core.store.jobs_of(account, Part::Ended, range, limit);
    let page = page.await?;
    let (count, last) = (page.len(), page.last().map(|job| job.id.0.into_bytes()));
    let complete_before = interrupted_deletions::complete_before(core).await?;
    let texts = page.iter().map(|job| (job.id, texts_of(job).collect()));
    let (mut erased, mut refused) = (Vec::new(), Ok(()));
    for portion in portions(texts) {
        let (without_texts, outcome) = delete_texts(jobs, portion).await;
        refused = refused.and(outcome);
        erased.extend(erase_jobs_without_texts(core, account, &without_texts).await?);
    }
    refused?;
    for job in &erased {
        let at = DELETED_IMAGES.get(&core.store, &(account, job.id)).await?;
        if at.is_some_and(|at| at >= complete_before) {
            delete_objects(jobs, NamedObject::of_job(&job.erased())).await?;
        }
    }
    Ok((count, last.filter(|_| count == limit)))
}

/// Erases the records of jobs whose texts are deleted. Returns those that still exist, as they were.
async fn erase_jobs_without_texts(
    core: &Core,
    account: AccountId,
    ids: &HashSet<JobId>,
) -> Result<Vec<Job>, Error> {
    let (Some(&first), Some(&last)) = (ids.iter().min(), ids.iter().max()) else {
        return Ok(Vec::new());
    };
    // Retention and the search index change the same records under this lock.
    let guard = core.locks.content.lock().await?;
    let found = core
        .store
        .rising_jobs_of(account, Part::Ended, first, last, usize::MAX);
    let mut found = found.await?;
    found.retain(|job| ids.contains(&job.id));
    let writes = core.store.erase_jobs(account, &found, core.now()).await?;
    commit(core, guard, writes).await?;
    let new = found.iter().filter(|job| !job.is_erased());
    let deliveries: Vec<_> = new.map(|job| DeliveryId(job.id.0)).collect();
    for page in deliveries.chunks(RECORDS_PER_COMMIT) {
        erase_attempts(core, account, page.to_vec()).await?;
    }
    Ok(found)
}

/// Commits what was decided under a lock, unless a repeated erasure has nothing to change.
async fn commit(core: &Core, guard: ChangeGuard, writes: Writes) -> Result<(), Error> {
    if !writes.is_empty() {
        core.commit(Change::under_lock(guard, writes)).await?;
    }
    Ok(())
}

/// Everything but jobs, batches and deliveries.
async fn erase_small_records(
    accounts: &AccountService,
    jobs: &Arc<JobService>,
    account: AccountId,
) -> Result<(), Error> {
    delete_files(jobs, account).await?;
    delete_people(&jobs.core, account).await?;
    delete_webhooks(&jobs.core, account).await?;
    delete_keys(accounts, account).await?;
    rename_deleted_keys(&jobs.core, account).await
}

/// Has the account content again, or still? Between two calls, the operator may reactivate it and callers use it, and a call whose key was
/// valid may store something after its phase. New records are the newest of their kind.
async fn has_content(core: &Core, account: AccountId) -> Result<bool, Error> {
    let store = &core.store;
    let jobs = store.jobs_of(account, Part::All, JobRange::ALL, 1).await?;
    let batches = BATCHES.page(store, &account, 1, None).await?.items;
    let file_batches = FILE_BATCHES.page(store, &account, 1, None).await?.items;
    let files = UPLOADED_FILES.page(store, &account, 1, None).await?.items;
    let people = PEOPLE.range(&account);
    let people = PEOPLE.scan(store, &people, Direction::Rising, 1).await?;
    let is_erased = jobs.iter().all(Job::is_erased)
        && batches.iter().all(|it| *it == it.erased())
        && file_batches.iter().all(|it| *it == it.erased())
        && files.is_empty()
        && people.is_empty()
        && store.webhooks(account).await?.is_empty()
        && store.keys_of(account, 1, None).await?.items.is_empty();
    Ok(!is_erased)
}

/// Erases the metadata of a page of batches, with that of their files. Returns the last one unless no other follows.
async fn erase_batches(
    jobs: &JobService,
    account: AccountId,
    after: Option<[u8; 16]>,
    limit: usize,
) -> Result<Option<[u8; 16]>, Error> {
    let core = &jobs.core;
    let page = BATCHES.page(&core.store, &account, limit, after).await?;
    let found = page.items.iter().filter(|it| **it != it.erased());
    let texts = found.map(|it| (it.id, NamedObject::of_batch(it).into_iter().collect()));
    let mut refused = Ok(());
    for portion in portions(texts) {
        let (without_texts, outcome) = delete_texts(jobs, portion).await;
        refused = refused.and(outcome);
        // The lock of the sweeps that delete old batches: the change must not restore a deleted record.
        let guard = core.locks.content.lock().await?;
        let mut writes = Writes::new();
        for id in without_texts {
            let key = (account, id);
            let found = BATCHES.get(&core.store, &key).await?;
            writes.extend(found.map(|it| BATCHES.put(&key, &it.erased())));
        }
        commit(core, guard, writes).await?;
    }
    refused.map(|()| page.next)
}

/// As [`erase_batches`].
async fn erase_file_batches(
    core: &Core,
    account: AccountId,
    after: Option<[u8; 16]>,
    limit: usize,
) -> Result<Option<[u8; 16]>, Error> {
    let guard = core.locks.content.lock().await?;
    let page = FILE_BATCHES.page(&core.store, &account, limit, after);
    let page = page.await?;
    let found = page.items.iter().filter(|it| **it != it.erased());
    let erased = found.map(|it| FILE_BATCHES.put(&(account, it.id), &it.erased()));
    commit(core, guard, erased.collect()).await?;
    Ok(page.next)
}

/// Erases what a page of deliveries has sent and received, those of tests and of batches too. Returns the last one unless no other follows.
async fn erase_deliveries(
    core: &Core,
    account: AccountId,
    after: Option<[u8; 16]>,
    limit: usize,
) -> Result<Option<[u8; 16]>, Error> {
    let page = DELIVERIES.page(&core.store, &account, limit, after).await?;
    let deliveries = page.items.iter().map(|it| it.id);
    erase_attempts(core, account, deliveries.collect()).await?;
    Ok(page.next)
}

async fn delete_files(jobs: &Arc<JobService>, account: AccountId) -> Result<(), Error> {
    loop {
        let page = UPLOADED_FILES.page(&jobs.core.store, &account, RECORDS_PER_COMMIT, None);
        let page = page.await?;
        if page.items.is_empty() {
            return Ok(());
        }
        for file in page.items {
            // Before the record: no repeated call finds the content without it.
            delete_objects(jobs, [NamedObject::of_upload(&file)]).await?;
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
async fn finish_erasure(
    core: &Core,
    audit: &AuditContext,
    account: AccountId,
) -> Result<(), Error> {
    let id = account.to_string();
    // The first digits are a time, which accounts of the same minute share.
    let name = format!("{ERASED}-{}", &id[id.len() - NAME_DIGITS..]);
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
