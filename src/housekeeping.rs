//! What is done now and then: forgetting old idempotency keys, removing old pictures, noticing a dead dispatcher.

use crate::http::state::AppState;
use crate::images::{RESULTS, THUMBNAILS};
use crate::panel;
use crate::stale_inputs;
use actix_web::web::Data;
use std::time::Duration;
use tintype_actors::delivery::ForgetDeliveries;
use tintype_storage::domain::time::Timestamp;
use tokio::sync::oneshot;
use tokio::time::{MissedTickBehavior, interval};

const PULSE: Duration = Duration::from_secs(1);
/// Pulses between two sweeps of records and pictures.
const SWEEP_EVERY: u64 = 600;
/// Pulses between two writings of when keys were used.
const NOTE_USES_EVERY: u64 = 60;
/// Records looked at in one step, and pictures removed in one.
const STEP: usize = 1_000;
/// Steps of one sweep; the rest waits for the next.
const MAX_STEPS: usize = 1_000;

/// Runs for as long as the process does.
pub async fn run(state: Data<AppState>) {
    let mut pulse = interval(PULSE);
    pulse.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for beat in 0u64.. {
        pulse.tick().await;
        if !state.system.is_alive() {
            state.fail_stop.trip("the dispatcher has died");
            return;
        }
        if beat % NOTE_USES_EVERY == NOTE_USES_EVERY - 1 {
            note_key_uses(&state).await;
        }
        if beat % SWEEP_EVERY == SWEEP_EVERY - 1 {
            forget_audit_log(&state).await;
            forget_idempotency_keys(&state).await;
            remove_old(&state, RESULTS).await;
            remove_old(&state, THUMBNAILS).await;
            remove_stale_inputs(&state).await;
            forget_old_deliveries(&state).await;
            panel::forget_old(&state).await;
        }
    }
}

async fn forget_idempotency_keys(state: &AppState) {
    let mut cursor = Vec::new();
    for _ in 0..MAX_STEPS {
        match state.store.forget_expired(state.now(), &cursor, STEP) {
            Ok((writes, next)) => {
                if !writes.is_empty() && state.commit(writes).await.is_err() {
                    return;
                }
                cursor = next;
            }
            Err(error) => {
                tracing::error!(%error, "old idempotency keys could not be forgotten");
                return;
            }
        }
        if cursor.is_empty() {
            return;
        }
    }
}

async fn forget_audit_log(state: &AppState) {
    let Some(age) = state.config.audit.retention() else {
        return;
    };
    let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
    let older_than = Timestamp::from_millis(state.now().millis().saturating_sub(age));
    for _ in 0..MAX_STEPS {
        match state.store.forget_audit_log(older_than, STEP) {
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
        let uses = state.key_ring.unwritten_uses(STEP);
        if uses.is_empty()
            || state
                .commit(state.store.put_last_uses(&uses))
                .await
                .is_err()
        {
            return;
        }
        state.key_ring.uses_written(&uses);
    }
}

/// Pictures, or their thumbnails.
async fn remove_old(state: &AppState, place: &str) {
    let days = state.config.results.retention_days;
    if days == 0 {
        return;
    }
    let age = Duration::from_secs(days * 86_400);
    let older_than =
        Timestamp::from_millis(state.now().millis().saturating_sub(age.as_millis() as i64));
    for _ in 0..MAX_STEPS {
        match state
            .images
            .expire(place, older_than.to_datetime(), STEP)
            .await
        {
            Ok(removed) if removed < STEP => return,
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(%error, "old pictures could not be removed");
                return;
            }
        }
    }
}

async fn remove_stale_inputs(state: &AppState) {
    match stale_inputs::remove(state).await {
        Ok(0) => {}
        Ok(removed) => tracing::info!(removed, "input images that no job needs were removed"),
        Err(error) => tracing::warn!(%error, "stale input images could not be removed"),
    }
}

async fn forget_old_deliveries(state: &AppState) {
    let days = state.config.webhooks.delivery_retention_days;
    if days == 0 {
        return;
    }
    let age = i64::try_from(days * 86_400_000).unwrap_or(i64::MAX);
    let older_than = Timestamp::from_millis(state.now().millis().saturating_sub(age));
    let mut cursor = Vec::new();
    for _ in 0..MAX_STEPS {
        let (reply, answer) = oneshot::channel();
        let command = ForgetDeliveries {
            older_than,
            cursor,
            limit: STEP,
            reply,
        };
        // Refused or unanswered, the process is busy or ending; the next sweep goes on.
        if state.system.deliveries().try_send(command).is_err() {
            return;
        }
        match answer.await {
            Ok(Ok(next)) if !next.is_empty() => cursor = next,
            _ => return,
        }
    }
}
