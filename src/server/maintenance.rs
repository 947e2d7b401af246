//! What is done now and then: forgetting old idempotency keys, deliveries and uploaded files, removing old pictures, noticing a dead
//! actor.

use super::orphaned_objects;
use crate::application::commit::Change;
use crate::application::state::AppState;
use crate::application::{favourites, operator_events, rate_exchange, sessions};
use crate::images::THUMBNAILS;
use crate::observability::log_rate_limit;
use actix_web::web::Data;
use chrono::{DateTime, Utc};
use futures_util::future::join_all;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tintype_actors::delivery::DeliveryCommand;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::Key;
use tintype_storage::store::{StoreError, Writes};
use tokio::sync::oneshot;
use tokio::time::{MissedTickBehavior, interval};

const PULSE: Duration = Duration::from_secs(1);
/// Pulses between two sweeps of records and pictures.
const SWEEP_EVERY: u64 = 600;
/// Pulses between two looks at the free space of the disk.
const WATCH_DISK_EVERY: u64 = 10;
/// Pulses between two writings of when keys were used.
const NOTE_USES_EVERY: u64 = 60;
/// Pulses between two sweeps over all request texts, which read every job on record. The first comes with the first sweep.
const TEXT_SWEEP_EVERY: u64 = 86_400;
/// Records looked at in one step, and pictures removed in one.
const STEP: usize = 1_000;
/// Steps of one sweep; the rest waits for the next.
const MAX_STEPS: usize = 1_000;
/// Steps of one sweep over lists that are swept from where the last one stopped. Ten thousand of them remove more than ten
/// thousand deliveries a second between two sweeps, each step's commit being small.
const SWEEP: SweepLimits = SweepLimits {
    step: STEP,
    steps: 10_000,
};

/// How much of a list one sweep goes through.
#[derive(Clone, Copy, Debug)]
pub struct SweepLimits {
    /// Records looked at in one step.
    pub step: usize,
    /// Steps of one sweep.
    pub steps: usize,
}

/// The lists that are too long for one sweep, and how far each has been swept: the next sweep goes on from there, so that what
/// comes early in a list never keeps what comes late from being looked at.
pub struct Sweeps {
    limits: SweepLimits,
    idempotency_keys: Vec<u8>,
    deliveries: Vec<u8>,
    uploaded_files: Vec<u8>,
    failed_batches: Vec<u8>,
}

/// Runs for as long as the process does.
pub(crate) async fn run(state: Data<AppState>) {
    let mut sweeps = Sweeps::new(SWEEP);
    let mut pulse = interval(PULSE);
    pulse.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for beat in 0u64.. {
        pulse.tick().await;
        if !state.system.is_alive() {
            state
                .fail_stop
                .trip("the actor that begins jobs, or the one that sends webhooks, has died");
            return;
        }
        state.images.add_writer_if_stuck();
        log_rate_limit::report();
        state.maintainer.look(&state.system).await;
        report_to_operator(&state, beat).await;
        if beat % NOTE_USES_EVERY == NOTE_USES_EVERY - 1 {
            note_key_uses(&state).await;
        }
        if beat % SWEEP_EVERY == SWEEP_EVERY - 1 {
            state.result_store.forget_kept_inputs(Instant::now()).await;
        }
        if !state.maintainer.is_this_node() {
            continue;
        }
        if beat % TEXT_SWEEP_EVERY == SWEEP_EVERY - 1 {
            remove_orphaned_texts(&state).await;
        }
        if beat % SWEEP_EVERY == SWEEP_EVERY - 1 {
            forget_audit_log(&state).await;
            sweeps.forget_idempotency_keys(&state).await;
            remove_old_pictures(&state).await;
            remove_old_thumbnails(&state).await;
            remove_orphaned_inputs(&state).await;
            sweeps.forget_old_deliveries(&state).await;
            sweeps.forget_old_files(&state).await;
            remove_orphaned_uploads(&state).await;
            sessions::forget_old(&state).await;
            forget_gone_nodes(&state).await;
        }
    }
}

/// Looks for what the operator is to hear of. Where that fails, the next pulse looks again.
async fn report_to_operator(state: &AppState, beat: u64) {
    let mut outcome = operator_events::watch_backends(state).await;
    if beat.is_multiple_of(WATCH_DISK_EVERY) && state.maintainer.is_this_node() {
        outcome = outcome.and(operator_events::watch_disk(state).await);
    }
    if let Err(error) = outcome {
        tracing::warn!(%error, "could not report an event to the operator");
    }
}

impl Sweeps {
    /// Sweeps that begin at the beginning of each list.
    pub fn new(limits: SweepLimits) -> Self {
        Self {
            limits,
            idempotency_keys: Vec::new(),
            deliveries: Vec::new(),
            uploaded_files: Vec::new(),
            failed_batches: Vec::new(),
        }
    }

    /// Forgets idempotency keys whose time is over.
    pub async fn forget_idempotency_keys(&mut self, state: &AppState) {
        for _ in 0..self.limits.steps {
            let cursor = &self.idempotency_keys;
            let (now, step) = (state.now(), self.limits.step);
            let found = state.store.forget_expired(now, cursor, step).await;
            match forgotten(state, found, "idempotency keys").await {
                Some(next) => self.idempotency_keys = next,
                None => return,
            }
            if self.idempotency_keys.is_empty() {
                return;
            }
        }
    }

    /// Removes the records of uploaded files that have expired, and of batches that failed as long ago as files are kept. The
    /// content of such a file is an orphaned object from then on.
    pub async fn forget_old_files(&mut self, state: &AppState) {
        for _ in 0..self.limits.steps {
            let cursor = &self.uploaded_files;
            let (now, step) = (state.now(), self.limits.step);
            let found = state.store.forget_uploaded_files(now, cursor, step).await;
            match forgotten(state, found, "expired files").await {
                Some(next) => self.uploaded_files = next,
                None => return,
            }
            if self.uploaded_files.is_empty() {
                break;
            }
        }
        let Some(age) = state.config.batches.file_retention() else {
            return;
        };
        let older_than = before(state.now(), age);
        for _ in 0..self.limits.steps {
            let cursor = &self.failed_batches;
            let step = self.limits.step;
            let found = state
                .store
                .forget_failed_file_batches(older_than, cursor, step)
                .await;
            match forgotten(state, found, "failed batches").await {
                Some(next) => self.failed_batches = next,
                None => return,
            }
            if self.failed_batches.is_empty() {
                return;
            }
        }
    }

    /// Removes deliveries that ended longer ago than they are to be kept.
    pub async fn forget_old_deliveries(&mut self, state: &AppState) {
        let Some(age) = state.config.webhooks.delivery_retention() else {
            return;
        };
        let older_than = before(state.now(), age);
        for _ in 0..self.limits.steps {
            let (reply, answer) = oneshot::channel();
            let command = DeliveryCommand::Forget {
                older_than,
                cursor: self.deliveries.clone(),
                limit: self.limits.step,
                reply,
            };
            // Refused or unanswered, the process is busy or ending; the next sweep goes on.
            if state.system.deliveries().try_send(command).is_err() {
                return;
            }
            let Ok(Ok(next)) = answer.await else { return };
            self.deliveries = next;
            if self.deliveries.is_empty() {
                return;
            }
        }
    }
}

/// Writes that forget records, and where their sweep goes on; `None` where it cannot.
async fn forgotten(
    state: &AppState,
    found: Result<(Writes, Key), StoreError>,
    what: &str,
) -> Option<Key> {
    match found {
        Ok((writes, next)) => {
            let is_done = writes.is_empty() || state.commit(writes).await.is_ok();
            is_done.then_some(next)
        }
        Err(error) => {
            tracing::error!(%error, "old {what} could not be forgotten");
            None
        }
    }
}

fn before(now: Timestamp, age: Duration) -> Timestamp {
    let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(now.millis().saturating_sub(age))
}

async fn forget_audit_log(state: &AppState) {
    let Some(age) = state.config.audit.retention() else {
        return;
    };
    let older_than = before(state.now(), age);
    for _ in 0..MAX_STEPS {
        match state.store.forget_audit_log(older_than, STEP).await {
            Ok(writes) if writes.is_empty() => return,
            Ok(writes) => {
                if state.commit(writes).await.is_err() {
                    return;
                }
            }
            Err(error) => {
                tracing::error!(%error, "old lines of the audit log could not be removed");
                return;
            }
        }
    }
}

/// Writes down when keys were last used, for those that were used since it was last written.
pub async fn note_key_uses(state: &AppState) {
    for _ in 0..MAX_STEPS {
        let mut uses = state.auth.api_keys.unwritten_uses(STEP);
        if uses.is_empty() {
            return;
        }
        // No caller removes a key meanwhile, whose last use would then be left behind for ever.
        let turn = match state.operator.take().await {
            Ok(turn) => turn,
            Err(error) => {
                tracing::warn!(%error, "could not write down when keys were last used");
                return;
            }
        };
        // A call that had found a key just before it was removed has put its use back.
        let found = join_all(uses.iter().map(|(id, _)| state.store.key(*id))).await;
        let mut found = found.into_iter();
        uses.retain(|(id, _)| match found.next() {
            Some(Ok(None)) => {
                state.auth.api_keys.forget_use(*id);
                false
            }
            _ => true,
        });
        let mut newer = uses.clone();
        if state.system.node().is_some() {
            // Another node may have seen a later use.
            let written = newer.iter().map(|(id, _)| state.store.key_last_use(*id));
            let mut written = join_all(written).await.into_iter();
            newer.retain(|(_, at)| !matches!(written.next(), Some(Ok(Some(it))) if it >= *at));
        }
        let writes = state.store.put_last_uses(&newer);
        let ring = Arc::clone(&state.auth.api_keys);
        let change = Change::in_turn(turn, writes).then(move || ring.uses_written(&uses));
        if state.commit(change).await.is_err() {
            return;
        }
    }
}

/// The end of the time of pictures; `None` where they stay for ever.
fn pictures_end(state: &AppState) -> Option<DateTime<Utc>> {
    match state.config.results.retention_days {
        0 => None,
        days => Some(state.now().days_before(days).to_datetime()),
    }
}

/// Removes pictures whose time is over, but for those of favourites.
pub async fn remove_old_pictures(state: &AppState) {
    let Some(older_than) = pictures_end(state) else {
        return;
    };
    for _ in 0..MAX_STEPS {
        match favourites::remove_old_pictures(state, older_than, STEP).await {
            Ok(found) if found < STEP => return,
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(%error, "could not remove old pictures");
                return;
            }
        }
    }
}

/// Those of favourites are made anew at the next look.
async fn remove_old_thumbnails(state: &AppState) {
    let Some(older_than) = pictures_end(state) else {
        return;
    };
    for _ in 0..MAX_STEPS {
        match state.images.expire(THUMBNAILS, older_than, STEP).await {
            Ok(removed) if removed < STEP => return,
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(%error, "could not remove old thumbnails");
                return;
            }
        }
    }
}

async fn forget_gone_nodes(state: &AppState) {
    if let Err(error) = rate_exchange::forget_gone_nodes(state).await {
        tracing::warn!(%error, "could not remove what nodes have counted that are gone");
    }
}

async fn remove_orphaned_inputs(state: &AppState) {
    match orphaned_objects::remove_inputs(state).await {
        Ok(0) => {}
        Ok(removed) => tracing::info!(removed, "removed input images that no job has"),
        Err(error) => tracing::warn!(%error, "could not remove input images that no job has"),
    }
}

async fn remove_orphaned_uploads(state: &AppState) {
    match orphaned_objects::remove_uploads(state).await {
        Ok(0) => {}
        Ok(removed) => tracing::info!(removed, "removed uploads that no file has"),
        Err(error) => tracing::warn!(%error, "could not remove uploads that no file has"),
    }
}

async fn remove_orphaned_texts(state: &AppState) {
    match orphaned_objects::remove_request_texts(state).await {
        Ok(0) => {}
        Ok(removed) => tracing::info!(removed, "removed request texts that no job has"),
        Err(error) => tracing::warn!(%error, "could not remove request texts that no job has"),
    }
}
