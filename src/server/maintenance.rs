//! Periodic maintenance: removes expired records and images, writes down key uses, and stops the process if an actor has died.

use super::orphaned_objects;
use crate::application::commit::Change;
use crate::application::core::Core;
use crate::application::maintainer::Maintainer;
use crate::application::services::{AccountService, JobService};
use crate::application::settings::Settings;
use crate::application::{favourites, operator_events, rate_exchange, sessions};
use crate::images::THUMBNAILS;
use crate::observability::log_rate_limit;
use actix_web::web::Data;
use chrono::{DateTime, Utc};
use futures_util::future::join_all;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tintype_actors::delivery::DeliveryCommand;
use tintype_storage::engine::Key;
use tintype_storage::store::{StoreError, Writes};
use tokio::sync::oneshot;
use tokio::time::{MissedTickBehavior, interval};

const TICK: Duration = Duration::from_secs(1);
// The intervals below are in ticks.
const SWEEP_EVERY: u64 = 600;
const WATCH_DISK_EVERY: u64 = 10;
const NOTE_USES_EVERY: u64 = 60;
/// A sweep over all request texts reads every job on record.
const TEXT_SWEEP_EVERY: u64 = 86_400;
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

/// The cursors of sweeps over lists that are too long for one sweep. The next sweep continues at the cursor, so that early
/// entries of a list never block late ones.
pub struct Sweeps {
    limits: SweepLimits,
    idempotency_keys: Vec<u8>,
    deliveries: Vec<u8>,
    uploaded_files: Vec<u8>,
    failed_batches: Vec<u8>,
}

pub(crate) async fn run(
    accounts: Data<AccountService>,
    jobs: Data<JobService>,
    maintainer: Data<Maintainer>,
) {
    let core = &jobs.core;
    let mut sweeps = Sweeps::new(SWEEP);
    let mut ticker = interval(TICK);
    ticker.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for tick in 0u64.. {
        ticker.tick().await;
        if !core.system.is_alive() {
            core.fail_stop
                .trip("the dispatcher actor or the delivery actor has died");
            return;
        }
        jobs.images.add_writer_if_stuck();
        log_rate_limit::report();
        maintainer.try_acquire(core).await;
        if core.fail_stop.has_tripped() {
            return;
        }
        report_to_operator(core, &jobs.settings, &maintainer, tick).await;
        if tick % NOTE_USES_EVERY == NOTE_USES_EVERY - 1 {
            note_key_uses(&accounts).await;
        }
        if tick % SWEEP_EVERY == SWEEP_EVERY - 1 {
            jobs.result_store.forget_kept_inputs(Instant::now()).await;
        }
        if !maintainer.is_this_node() {
            continue;
        }
        if tick % TEXT_SWEEP_EVERY == SWEEP_EVERY - 1 {
            remove_orphaned_texts(&jobs).await;
        }
        if tick % SWEEP_EVERY == SWEEP_EVERY - 1 {
            forget_audit_log(core, &jobs.settings).await;
            sweeps.forget_idempotency_keys(core).await;
            remove_old_pictures(&jobs).await;
            remove_old_thumbnails(&jobs).await;
            remove_orphaned_inputs(&jobs).await;
            sweeps.forget_old_deliveries(core, &jobs.settings).await;
            sweeps.forget_old_files(core, &jobs.settings).await;
            remove_orphaned_uploads(&jobs).await;
            sessions::forget_old(core).await;
            delete_counts_of_gone_nodes(core).await;
        }
    }
}

/// Creates events for the operator's webhook. After a failure the next tick tries again.
async fn report_to_operator(core: &Core, settings: &Settings, maintainer: &Maintainer, tick: u64) {
    let mut outcome = operator_events::watch_backends(core, settings).await;
    if tick.is_multiple_of(WATCH_DISK_EVERY) && maintainer.is_this_node() {
        outcome = outcome.and(operator_events::watch_disk(core, settings).await);
    }
    if let Err(error) = outcome
        && !core.is_ending()
    {
        tracing::warn!(%error, "could not report an event to the operator");
    }
}

impl Sweeps {
    pub fn new(limits: SweepLimits) -> Self {
        Self {
            limits,
            idempotency_keys: Vec::new(),
            deliveries: Vec::new(),
            uploaded_files: Vec::new(),
            failed_batches: Vec::new(),
        }
    }

    /// Removes expired idempotency keys.
    pub async fn forget_idempotency_keys(&mut self, core: &Core) {
        for _ in 0..self.limits.steps {
            let cursor = &self.idempotency_keys;
            let (now, step) = (core.now(), self.limits.step);
            let found = core.store.forget_expired(now, cursor, step).await;
            match commit_step(core, found, "idempotency keys").await {
                Some(next) => self.idempotency_keys = next,
                None => return,
            }
            if self.idempotency_keys.is_empty() {
                return;
            }
        }
    }

    /// Removes the records of expired files, and of batches that failed longer ago than the retention of files. Then the content
    /// of such a file is an orphaned object.
    pub async fn forget_old_files(&mut self, core: &Core, settings: &Settings) {
        for _ in 0..self.limits.steps {
            let cursor = &self.uploaded_files;
            let (now, step) = (core.now(), self.limits.step);
            let found = core.store.forget_uploaded_files(now, cursor, step).await;
            match commit_step(core, found, "expired files").await {
                Some(next) => self.uploaded_files = next,
                None => return,
            }
            if self.uploaded_files.is_empty() {
                break;
            }
        }
        let Some(age) = settings.config.batches.file_retention() else {
            return;
        };
        let older_than = core.now().minus(age);
        for _ in 0..self.limits.steps {
            let cursor = &self.failed_batches;
            let step = self.limits.step;
            let found = core
                .store
                .forget_failed_file_batches(older_than, cursor, step)
                .await;
            match commit_step(core, found, "failed batches").await {
                Some(next) => self.failed_batches = next,
                None => return,
            }
            if self.failed_batches.is_empty() {
                return;
            }
        }
    }

    /// Removes deliveries that ended before the retention period.
    pub async fn forget_old_deliveries(&mut self, core: &Core, settings: &Settings) {
        let Some(age) = settings.config.webhooks.delivery_retention() else {
            return;
        };
        let older_than = core.now().minus(age);
        for _ in 0..self.limits.steps {
            let (reply, cursor) = oneshot::channel();
            let command = DeliveryCommand::Forget {
                older_than,
                cursor: self.deliveries.clone(),
                limit: self.limits.step,
                reply,
            };
            // The actor refuses or drops the command when the process is busy or stopping. The next sweep continues.
            if core.system.deliveries().try_send(command).is_err() {
                return;
            }
            let Ok(Ok(next)) = cursor.await else { return };
            self.deliveries = next;
            if self.deliveries.is_empty() {
                return;
            }
        }
    }
}

/// Commits the writes of a sweep step and returns the cursor of the next step. `None` if the step failed.
async fn commit_step(
    core: &Core,
    found: Result<(Writes, Key), StoreError>,
    what: &str,
) -> Option<Key> {
    match found {
        Ok((writes, next)) => {
            let is_done = writes.is_empty() || core.commit(writes).await.is_ok();
            is_done.then_some(next)
        }
        Err(error) => {
            tracing::error!(%error, "could not remove old {what}");
            None
        }
    }
}

async fn forget_audit_log(core: &Core, settings: &Settings) {
    let Some(age) = settings.config.audit.retention() else {
        return;
    };
    let older_than = core.now().minus(age);
    for _ in 0..MAX_STEPS {
        match core.store.forget_audit_log(older_than, STEP).await {
            Ok(writes) if writes.is_empty() => return,
            Ok(writes) => {
                if core.commit(writes).await.is_err() {
                    return;
                }
            }
            Err(error) => {
                tracing::error!(%error, "could not remove old lines of the audit log");
                return;
            }
        }
    }
}

/// Writes the time of last use of each key that was used since the last write.
pub async fn note_key_uses(accounts: &AccountService) {
    let core = &accounts.core;
    for _ in 0..MAX_STEPS {
        let mut uses = accounts.auth.api_keys.unwritten_uses(STEP);
        if uses.is_empty() {
            return;
        }
        // The lock keeps callers from removing a key meanwhile, which would leave its last use behind for ever.
        let guard = match core.locks.operator.lock().await {
            Ok(guard) => guard,
            Err(error) => {
                tracing::warn!(%error, "could not write when keys were last used");
                return;
            }
        };
        // A request that read a key just before its removal may have noted its use afterwards.
        let found = join_all(uses.iter().map(|(id, _)| core.store.key(*id))).await;
        let mut found = found.into_iter();
        uses.retain(|(id, _)| match found.next() {
            Some(Ok(None)) => {
                accounts.auth.api_keys.forget_use(*id);
                false
            }
            _ => true,
        });
        let mut newer = uses.clone();
        if core.system.node().is_some() {
            // Another node may have seen a later use.
            let written = newer.iter().map(|(id, _)| core.store.key_last_use(*id));
            let mut written = join_all(written).await.into_iter();
            newer.retain(|(_, at)| !matches!(written.next(), Some(Ok(Some(it))) if it >= *at));
        }
        let writes = core.store.put_last_uses(&newer);
        let api_keys = Arc::clone(&accounts.auth.api_keys);
        let change =
            Change::under_lock(guard, writes).then(move || api_keys.mark_uses_written(&uses));
        if core.commit(change).await.is_err() {
            return;
        }
    }
}

/// Older images have expired. `None`: images are kept for ever.
fn image_cutoff(core: &Core, settings: &Settings) -> Option<DateTime<Utc>> {
    let age = settings.config.results.retention()?;
    Some(core.now().minus(age).to_datetime())
}

/// Removes expired images, except those of favourites.
pub async fn remove_old_pictures(jobs: &JobService) {
    let Some(older_than) = image_cutoff(&jobs.core, &jobs.settings) else {
        return;
    };
    for _ in 0..MAX_STEPS {
        match favourites::remove_old_pictures(jobs, older_than, STEP).await {
            Ok(found) if found < STEP => return,
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(%error, "could not remove expired images");
                return;
            }
        }
    }
}

/// Removes the thumbnails of favourites too: the next view creates them again.
async fn remove_old_thumbnails(jobs: &JobService) {
    let Some(older_than) = image_cutoff(&jobs.core, &jobs.settings) else {
        return;
    };
    for _ in 0..MAX_STEPS {
        match jobs.images.expire(THUMBNAILS, older_than, STEP).await {
            Ok(removed) if removed < STEP => return,
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(%error, "could not remove old thumbnails");
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

async fn remove_orphaned_inputs(jobs: &JobService) {
    match orphaned_objects::remove_inputs(jobs).await {
        Ok(0) => {}
        Ok(removed) => tracing::info!(removed, "removed orphaned input images"),
        Err(error) => tracing::warn!(%error, "could not remove orphaned input images"),
    }
}

async fn remove_orphaned_uploads(jobs: &JobService) {
    match orphaned_objects::remove_uploads(jobs).await {
        Ok(0) => {}
        Ok(removed) => tracing::info!(removed, "removed orphaned uploads"),
        Err(error) => tracing::warn!(%error, "could not remove orphaned uploads"),
    }
}

async fn remove_orphaned_texts(jobs: &JobService) {
    match orphaned_objects::remove_request_texts(jobs).await {
        Ok(0) => {}
        Ok(removed) => tracing::info!(removed, "removed orphaned request texts"),
        Err(error) => tracing::warn!(%error, "could not remove orphaned request texts"),
    }
}
