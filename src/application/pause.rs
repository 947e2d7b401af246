//! The pause switches of the project and of each model, with their reasons.

use super::audit_context::{Subject, to_audit_entry};
use super::caller::Caller;
use super::commit::Change;
use super::error::Error;
use super::payer::Payer;
use super::state::AppState;
use actix::Recipient;
use actix_web::web::Data;
use parking_lot::RwLock;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tintype_actors::dispatch::DispatcherCommand;
use tintype_storage::domain::audit_log::Action;
use tintype_storage::domain::pause::{Pause, PauseChange, PauseReasons, Unnamed};
use tintype_storage::domain::tier::Tier;
use tintype_storage::store::StoreError;
use tokio::time::sleep;

/// How often a node reads switches that another node may have changed.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The current switches. With several nodes they are read from the store, because another node may have changed them.
///
/// # Errors
/// The store fails.
pub async fn current(state: &AppState) -> Result<Pause, StoreError> {
    match state.system.node() {
        None => Ok(state.pause.read().clone()),
        Some(_) => state.store.pause().await,
    }
}

/// The switches for a job submission, which may have read them together with its key.
///
/// # Errors
/// The store fails.
pub async fn for_call(state: &AppState, caller: &Payer) -> Result<Pause, StoreError> {
    match &caller.before_jobs {
        Some(read) => Ok(read.pause.clone()),
        None => current(state).await,
    }
}

/// Polls for switches that another node changed. Estimates, and the jobs that this node has already taken, use the copy in memory. Runs
/// until the process stops.
pub async fn follow(state: Data<AppState>) {
    // The dispatcher may have read an older version before.
    let mut is_first = true;
    while !*state.stopping.borrow() {
        match state.store.pause().await {
            Ok(pause) if is_first || *state.pause.read() != pause => {
                publish(&state.pause, &state.system.dispatcher(), pause);
                is_first = false;
            }
            Ok(_) => {}
            Err(error) => return tracing::error!(%error, "could not read what is paused"),
        }
        sleep(POLL_INTERVAL).await;
    }
}

/// Changes the switches. Writes nothing if nothing changes.
pub async fn change(
    state: &AppState,
    caller: &Caller,
    change: PauseChange,
    unnamed: Unnamed,
) -> Result<Pause, Error> {
    let context = caller.operate()?;
    let guard = state.operator.lock().await?;
    let before = current(state).await?;
    let pause = change.apply(&before, unnamed);
    if pause != before {
        let subject = Subject {
            account: None,
            id: None,
        };
        let entry = context.entry(state, Action::PauseChange, subject);
        let entry = to_audit_entry(entry, Some(facts(&before)), Some(facts(&pause)));
        let mut writes = state.store.set_pause(&pause);
        writes.push(state.store.add_audit(&entry));
        let (here, dispatcher) = (Arc::clone(&state.pause), state.system.dispatcher());
        let known = pause.clone();
        let change =
            Change::under_lock(guard, writes).then(move || publish(&here, &dispatcher, known));
        state.commit_pause(pause.clone(), change).await?;
    }
    Ok(pause)
}

/// Publishes new switches to the interfaces and the dispatcher, under the lock so that both end with the same version.
fn publish(known: &RwLock<Pause>, dispatcher: &Recipient<DispatcherCommand>, pause: Pause) {
    let mut known = known.write();
    dispatcher.do_send(DispatcherCommand::Pause(pause.clone()));
    *known = pause;
}

/// The switches as the audit log records them; reasons only if there are any.
fn facts(pause: &Pause) -> Value {
    let tier = |tier: &Tier| (tier.word().to_owned(), json!(pause.tiers[tier.index()]));
    let mut facts = json!({
        "project": pause.project,
        "tiers": Value::Object(Tier::ALL.iter().map(tier).collect()),
    });
    if pause.reasons != PauseReasons::default() {
        let reason = |tier: &Tier| {
            let reason = &pause.reasons.tiers[tier.index()];
            (tier.word().to_owned(), json!(reason))
        };
        let reasons = Tier::ALL.iter().map(reason);
        let project = ("project".to_owned(), json!(pause.reasons.project));
        facts["reasons"] = Value::Object(reasons.chain([project]).collect());
    }
    facts
}
