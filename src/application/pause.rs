//! The switches that pause the project or a model, with the reasons that callers are told.

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

/// How often a node looks for switches that another node has changed.
const LOOK: Duration = Duration::from_millis(250);

/// The switches as they are on record. Where several nodes share the store, another node may have changed them, and they are read.
///
/// # Errors
/// The store fails.
pub async fn current(state: &AppState) -> Result<Pause, StoreError> {
    match state.system.node() {
        None => Ok(state.pause.read().clone()),
        Some(_) => state.store.pause().await,
    }
}

/// The same for a call that asks for jobs, which may have read them with its key.
///
/// # Errors
/// The store fails.
pub async fn for_call(state: &AppState, caller: &Payer) -> Result<Pause, StoreError> {
    match &caller.before_jobs {
        Some(read) => Ok(read.pause.clone()),
        None => current(state).await,
    }
}

/// Has a node learn of switches that another node has changed, for what is decided on no record: estimates, and the jobs that the
/// node has taken already. Runs for as long as the process does.
pub async fn follow(state: Data<AppState>) {
    // The dispatcher has read them before.
    let mut is_first = true;
    while !*state.stopping.borrow() {
        match state.store.pause().await {
            Ok(pause) if is_first || *state.pause.read() != pause => {
                learn(&state.pause, &state.system.dispatcher(), pause);
                is_first = false;
            }
            Ok(_) => {}
            Err(error) => return tracing::error!(%error, "could not read what is paused"),
        }
        sleep(LOOK).await;
    }
}

/// Changes the switches. What changes nothing is not written.
pub async fn change(
    state: &AppState,
    caller: &Caller,
    change: PauseChange,
    unnamed: Unnamed,
) -> Result<Pause, Error> {
    let context = caller.operate()?;
    let turn = state.operator.take().await?;
    let before = current(state).await?;
    let pause = change.apply(&before, unnamed);
    if pause != before {
        let subject = Subject {
            account: None,
            id: None,
        };
        let entry = context.line(state, Action::PauseChange, subject);
        let entry = to_audit_entry(entry, Some(facts(&before)), Some(facts(&pause)));
        let mut writes = state.store.set_pause(&pause);
        writes.push(state.store.add_audit(&entry));
        let (here, dispatcher) = (Arc::clone(&state.pause), state.system.dispatcher());
        let known = pause.clone();
        let change = Change::in_turn(turn, writes).then(move || learn(&here, &dispatcher, known));
        state.commit_pause(pause.clone(), change).await?;
    }
    Ok(pause)
}

/// Tells the interfaces and the dispatcher of other switches: under the lock, so that both hear of the same ones last.
fn learn(known: &RwLock<Pause>, dispatcher: &Recipient<DispatcherCommand>, pause: Pause) {
    let mut known = known.write();
    dispatcher.do_send(DispatcherCommand::Pause(pause.clone()));
    *known = pause;
}

/// What the audit log says of the switches; of reasons only where there is one.
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
