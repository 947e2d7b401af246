//! Sweeps remove expired records and images, step by step, so that each commit stays small.

use super::orphaned_objects::{self, ObjectKind};
use super::service_marks;
use crate::application::core::Core;
use crate::application::core::change_lock::{ChangeGuard, ChangeLock};
use crate::application::core::commit::Change;
use crate::application::images::interrupted_deletions::CompletedDeletions;
use crate::application::images::retention;
use crate::application::nodes::maintainer::Maintainer;
use crate::application::nodes::rate_exchange;
use crate::application::paging::CLOCK_SKEW;
use crate::application::services::JobService;
use crate::application::settings::Settings;
use crate::objects::{ObjectError, THUMBNAILS};
use actix_web::web::Data;
use chrono::{DateTime, Utc};
use std::collections::HashMap;
use std::time::{Duration, Instant};
use tintype_actors::delivery::DeliveryCommand;
use tintype_storage::domain::audit_log::AuditEntry;
use tintype_storage::domain::file_batch::UploadedFile;
use tintype_storage::domain::person::Session;
use tintype_storage::engine::Key;
use tintype_storage::store::tables::{AUDIT_LOG, IDS_AHEAD, SESSIONS, UPLOADED_FILES};
use tintype_storage::store::{JobDeletion, StoreError, Writes};
use tokio::sync::oneshot;
use tokio::time::{MissedTickBehavior, interval_at};

pub(super) const INTERVAL: Duration = Duration::from_secs(600);
/// In intervals. A sweep over all request texts or images may read every job on record.
const LARGE_SWEEP_EVERY: u64 = 144;
/// Records that one step reads, or images that it removes.
const STEP: usize = 1_000;
/// Steps of one sweep. The next sweep does the rest.
const MAX_STEPS: usize = 1_000;
/// Limits for sweeps that continue where the last one stopped. Ten thousand steps every 600 s keep up with more than ten thousand
/// new deliveries a second, and each step's commit stays small.
const SWEEP: SweepLimits = SweepLimits {
    step: STEP,
    steps: 10_000,
};

/// How much of a list one sweep reads.
#[derive(Clone, Copy, Debug)]
pub struct SweepLimits {
    /// Records per step.
    pub step: usize,
    pub steps: usize,
}

/// Sweeps until the process stops. Not a part of [`super::maintenance`], whose duties must not wait: a sweep may take minutes, and hang
/// on a broken disk.
pub(super) async fn run(jobs: Data<JobService>, maintainer: Data<Maintainer>, interval: Duration) {
    let mut sweeps = Sweeps::default();
    let mut ticker = interval_at(tokio::time::Instant::now() + interval, interval);
    ticker.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for turn in 0u64.. {
        record_ids_ahead(&jobs.core).await;
        ticker.tick().await;
        if jobs.core.is_ending() {
            return;
        }
        jobs.input_deletion.delete_due(Instant::now()).await;
        if !maintainer.is_this_node() {
            continue;
        }
        sweeps.run(&jobs).await;
        remove_objects(&jobs, turn.is_multiple_of(LARGE_SWEEP_EVERY)).await;
    }
}

/// Sweeps over lists that are too long for one sweep. The next sweep continues at the cursor of the list, so that early entries never
/// block late ones.
pub struct Sweeps {
    limits: SweepLimits,
    /// By the name of the list.
    cursors: HashMap<&'static str, Key>,
    /// All jobs that ended before this day are deleted.
    first_kept_day: Option<i64>,
    deletions: CompletedDeletions,
}

impl Default for Sweeps {
    fn default() -> Self {
        Self::new(SWEEP)
    }
}

impl Sweeps {
    pub fn new(limits: SweepLimits) -> Self {
        Self {
            limits,
            cursors: HashMap::new(),
            first_kept_day: None,
            deletions: CompletedDeletions::default(),
        }
    }

    /// Sweeps the records.
    pub async fn run(&mut self, jobs: &JobService) {
        let (core, settings) = (&jobs.core, &jobs.settings);
        self.delete_old_audit_entries(core, settings).await;
        self.delete_expired_idempotency_keys(core).await;
        self.delete_old_deliveries(core, settings).await;
        self.delete_old_jobs(core, settings).await;
        self.delete_old_files(core, settings).await;
        self.delete_ended_sessions(core).await;
        delete_counts_of_gone_nodes(core).await;
        // Last, because it may wait for the object store.
        self.complete_deletions(jobs).await;
    }

    /// Removes entries of the audit log that are older than the retention period.
    async fn delete_old_audit_entries(&mut self, core: &Core, settings: &Settings) {
        let Some(age) = settings.config.audit.retention() else {
            return;
        };
        let older_than = core.now().minus(age);
        let find = async |cursor: &[u8], limit| {
            // An entry that was written while the clock was ahead does not keep the older entries behind it.
            let is_old = |entry: &AuditEntry| entry.at < older_than;
            AUDIT_LOG
                .delete_where(&core.store, cursor, limit, is_old)
                .await
        };
        self.delete(core, "lines of the audit log", None, find)
            .await;
    }

    /// Completes the deletions of images on demand that were interrupted.
    pub async fn complete_deletions(&mut self, jobs: &JobService) {
        self.deletions.complete(jobs).await;
    }

    /// Removes expired idempotency keys.
    pub async fn delete_expired_idempotency_keys(&mut self, core: &Core) {
        let find =
            async |cursor: &[u8], limit| core.store.delete_expired(core.now(), cursor, limit).await;
        self.delete(core, "idempotency keys", None, find).await;
    }

    /// Removes the records of files that have expired or are older than the retention of jobs, and of batches that failed longer ago
    /// than the retention of files and that of idempotency keys. Then the content of such a file is an orphaned object.
    pub async fn delete_old_files(&mut self, core: &Core, settings: &Settings) {
        let find_files = async |cursor: &[u8], limit| {
            let now = core.now();
            let oldest = settings.config.jobs.retention().map(|age| now.minus(age));
            // A file may have been uploaded before jobs had a retention.
            let is_old = |it: &UploadedFile| {
                it.is_expired(now) || oldest.is_some_and(|oldest| it.created_at < oldest)
            };
            UPLOADED_FILES
                .delete_where(&core.store, cursor, limit, is_old)
                .await
        };
        self.delete(core, "expired files", None, find_files).await;
        let Some(age) = settings.config.file_retention() else {
            return;
        };
        let age = age.max(settings.config.idempotency.retention());
        let older_than = core.now().minus(age);
        let find_batches = async |cursor: &[u8], limit| {
            core.store
                .delete_failed_file_batches(older_than, cursor, limit)
                .await
        };
        // An erasure may change a batch meanwhile.
        let lock = Some(&core.locks.content);
        self.delete(core, "failed batches", lock, find_batches)
            .await;
    }

    /// Deletes jobs and batches that ended before the retention period. Retention counts whole days, so this happens once a day.
    pub async fn delete_old_jobs(&mut self, core: &Core, settings: &Settings) {
        let Some(age) = settings.config.jobs.retention() else {
            return;
        };
        let first_kept = core.now().minus(age).day();
        if self.first_kept_day == Some(first_kept) {
            return;
        }
        let store = &core.store;
        let find_batches =
            async |cursor: &[u8], _| store.delete_old_batches(first_kept, cursor).await;
        let find_jobs = async |cursor: &[u8], _| store.delete_ended_jobs(first_kept, cursor).await;
        // A person may mark a favourite meanwhile.
        let lock = Some(&core.locks.content);
        // The jobs of a batch are deleted after the batch.
        if self.delete(core, "batches", lock, find_batches).await
            && self.delete(core, "jobs", lock, find_jobs).await
        {
            self.first_kept_day = Some(first_kept);
        }
    }

    /// Removes deliveries that ended before the retention period.
    pub async fn delete_old_deliveries(&mut self, core: &Core, settings: &Settings) {
        let Some(age) = settings.config.webhooks.delivery_retention() else {
            return;
        };
        let older_than = core.now().minus(age);
        let SweepLimits { step, steps } = self.limits;
        let delete = async |cursor: &[u8]| {
            let (reply, next) = oneshot::channel();
            let command = DeliveryCommand::Delete {
                older_than,
                cursor: cursor.to_vec(),
                limit: step,
                reply,
            };
            // The actor refuses or drops the command when the process is busy or stopping. The next sweep continues.
            core.system.deliveries().try_send(command).ok()?;
            next.await.ok()?.ok()
        };
        let cursor = self.cursors.entry("deliveries").or_default();
        sweep(steps, cursor, delete).await;
    }

    async fn delete_ended_sessions(&mut self, core: &Core) {
        let find = async |cursor: &[u8], limit| {
            let now = core.now();
            let has_ended = |it: &Session| !it.is_alive(now);
            SESSIONS
                .delete_where(&core.store, cursor, limit, has_ended)
                .await
        };
        // A call may record its use of a session meanwhile.
        let lock = Some(&core.locks.people);
        self.delete(core, "sessions", lock, find).await;
    }

    /// Deletes the records that `find` returns, from the cursor of the list on. Returns whether it reached the end of the list.
    /// `lock`: see [`delete_step`].
    async fn delete<D: Deletion>(
        &mut self,
        core: &Core,
        what: &'static str,
        lock: Option<&ChangeLock>,
        find: impl AsyncFn(&[u8], usize) -> Result<(D, Key), StoreError>,
    ) -> bool {
        let SweepLimits { step, steps } = self.limits;
        let delete = async |cursor: &[u8]| {
            let find = async || find(cursor, step).await;
            delete_step(core, what, lock, find).await
        };
        sweep(steps, self.cursors.entry(what).or_default(), delete).await
    }
}

/// Repeats a step until it fails or the cursor, which each step advances, is empty. Returns whether it reached that end.
async fn sweep(steps: usize, cursor: &mut Key, step: impl AsyncFn(&[u8]) -> Option<Key>) -> bool {
    for _ in 0..steps {
        let Some(next) = step(cursor).await else {
            return false;
        };
        *cursor = next;
        if cursor.is_empty() {
            return true;
        }
    }
    false
}

/// What one step deletes.
trait Deletion {
    fn is_empty(&self) -> bool;

    /// `guard` is released after the commit. `None` if the commit failed.
    async fn commit(self, core: &Core, guard: Option<ChangeGuard>) -> Option<()>;
}

impl Deletion for Writes {
    fn is_empty(&self) -> bool {
        self.is_empty()
    }

    async fn commit(self, core: &Core, guard: Option<ChangeGuard>) -> Option<()> {
        core.commit(Change::under_lock(guard, self)).await.ok()
    }
}

impl Deletion for Option<JobDeletion> {
    fn is_empty(&self) -> bool {
        self.is_none()
    }

    async fn commit(self, core: &Core, guard: Option<ChangeGuard>) -> Option<()> {
        // Only a sweep under a lock finds jobs.
        let committed = core.commit_job_deletion(self?, guard?).await;
        // A damaged record of a refund stops no service, so this is the only trace of it.
        committed
            .inspect_err(|error| tracing::error!(%error, "could not remove old jobs"))
            .ok()
    }
}

/// Commits what a step deletes and returns the cursor of the next one. `None` if the step failed. With a lock, other callers change the
/// records too, and the work of one node may pass to another, so the step finds its records again under the lock.
async fn delete_step<D: Deletion>(
    core: &Core,
    what: &str,
    lock: Option<&ChangeLock>,
    find: impl AsyncFn() -> Result<(D, Key), StoreError>,
) -> Option<Key> {
    let find = async || {
        let found = find().await;
        found
            .inspect_err(|error| tracing::error!(%error, "could not remove old {what}"))
            .ok()
    };
    let (deletion, next) = find().await?;
    if deletion.is_empty() {
        return Some(next);
    }
    let Some(lock) = lock else {
        deletion.commit(core, None).await?;
        return Some(next);
    };
    let guard = lock.lock().await;
    let guard = guard
        .inspect_err(|error| tracing::warn!(%error, "could not continue to remove old {what}"))
        .ok()?;
    let (deletion, next) = find().await?;
    if !deletion.is_empty() {
        deletion.commit(core, Some(guard)).await?;
    }
    Some(next)
}

/// Notes ids that are ahead of the clock, so that lists and retention find records that are older than their ids.
pub async fn record_ids_ahead(core: &Core) {
    let (newest, now) = (core.system.process().ids.newest(), core.now());
    if newest <= now.plus(CLOCK_SKEW) {
        return;
    }
    let noted = async {
        let writes = IDS_AHEAD.raise(&core.store, newest).await?;
        if !writes.is_empty() {
            tracing::warn!(%newest, %now, "the newest id is ahead of the clock; check the clock");
            // A failure stops the process.
            drop(core.commit(writes).await);
        }
        Ok::<_, StoreError>(())
    };
    if let Err(error) = noted.await {
        tracing::error!(%error, "could not record that ids are ahead of the clock");
    }
}

/// Removes expired images and orphaned objects, unless another service or another copy of the records uses the object store: its
/// favourites look like expired images.
/// `is_large`: also the orphans that take long to find.
pub async fn remove_objects(jobs: &JobService, is_large: bool) {
    if let Err(error) = service_marks::claim(jobs).await {
        tracing::warn!(%error, "could not remove expired images and orphaned objects");
        return;
    }
    remove_old_images(jobs).await;
    remove_old_thumbnails(jobs).await;
    remove_orphans(jobs, &orphaned_objects::INPUTS).await;
    remove_orphans(jobs, &orphaned_objects::UPLOADED_FILES).await;
    if is_large {
        remove_orphans(jobs, &orphaned_objects::REQUEST_TEXTS).await;
        // Retention removes all images.
        if jobs.settings.config.results.retention().is_none() {
            remove_orphans(jobs, &orphaned_objects::IMAGES).await;
            remove_orphans(jobs, &orphaned_objects::NEW_IMAGES).await;
        }
    }
}

/// Removes expired images, except those of favourites.
pub async fn remove_old_images(jobs: &JobService) {
    remove_expired(jobs, "images", async |older_than| {
        retention::remove_old_images(jobs, older_than, STEP).await
    })
    .await;
}

/// Removes thumbnails that the removal of their images has left. Also those of favourites: the next view creates them again.
async fn remove_old_thumbnails(jobs: &JobService) {
    remove_expired(jobs, "thumbnails", async |older_than| {
        jobs.objects.expire(THUMBNAILS, older_than, STEP).await
    })
    .await;
}

/// Calls `remove` until it finds fewer than [`STEP`] images older than the retention. Does nothing if images are kept forever.
async fn remove_expired(
    jobs: &JobService,
    what: &str,
    remove: impl AsyncFn(DateTime<Utc>) -> Result<usize, ObjectError>,
) {
    let Some(age) = jobs.settings.config.results.retention() else {
        return;
    };
    let older_than = jobs.core.now().minus(age).to_datetime();
    for _ in 0..MAX_STEPS {
        match remove(older_than).await {
            Ok(found) if found < STEP => return,
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(%error, "could not remove expired {what}");
                return;
            }
        }
    }
}

async fn delete_counts_of_gone_nodes(core: &Core) {
    if let Err(error) = rate_exchange::delete_counts_of_gone_nodes(core).await {
        tracing::warn!(%error, "could not remove the rates of nodes that have left the cluster");
    }
}

async fn remove_orphans(jobs: &JobService, kind: &ObjectKind) {
    let what = kind.name;
    match orphaned_objects::remove(jobs, kind).await {
        Ok(0) => {}
        Ok(removed) => tracing::info!(removed, "removed orphaned {what}"),
        Err(error) => tracing::warn!(%error, "could not remove orphaned {what}"),
    }
}
