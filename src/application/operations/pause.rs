//! The pause switches of the project, of each model and of each backend, with their reasons.

use crate::application::caller::Caller;
use crate::application::caller::payer::Payer;
use crate::application::core::Core;
use crate::application::core::audit_context::Subject;
use crate::application::core::commit::Change;
use crate::application::error::Error;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tintype_actors::process_context::DurableBackendPauses;
use tintype_api::FieldFault;
use tintype_api::fields::shown;
use tintype_storage::domain::audit_log::Action;
use tintype_storage::domain::backend_pauses::BackendPauses;
use tintype_storage::domain::pause::{Pause, PauseChange, PauseReasons, UnnamedPauses};
use tintype_storage::domain::tier::Tier;
use tintype_storage::engine::{EngineError, Read, TransactionNumbers};
use tintype_storage::store::StoreError;
use tintype_storage::store::tables::{BACKEND_PAUSES, PAUSE};
use tokio::time::{Instant, sleep};

/// How often a node reads switches that another node may have changed.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// A decision takes some milliseconds, and the database ends the transaction of a node that has stopped after 2 s. A longer
/// transaction is that of another program.
const MAX_DECISION_WAIT: Duration = Duration::from_secs(3);
const DECISION_POLL: Duration = Duration::from_millis(2);

/// The bytes of the [`facts`] of all paused backends. An entry of the audit log has them before and after a change, beside those of the
/// models, and must fit into a value of 16 KiB.
const MAX_BACKEND_FACTS: usize = 4_000;

/// The switches of the models, and those of the backends.
pub struct Pauses {
    pub models: Pause,
    pub backends: BackendPauses,
}

/// The current switches. With several nodes they are read from the store, because another node may have changed them.
pub async fn current(core: &Core) -> Result<Pause, StoreError> {
    match core.system.node() {
        None => Ok(core.pause.read().clone()),
        Some(_) => core.store.pause().await,
    }
}

/// The current pauses of backends, in the same way. May contain backends that the configuration no longer has.
pub async fn of_backends(core: &Core) -> Result<BackendPauses, StoreError> {
    match core.system.node() {
        None => Ok(durable_of_backends(core).read().clone()),
        Some(_) => core.store.backend_pauses().await,
    }
}

fn durable_of_backends(core: &Core) -> &DurableBackendPauses {
    &core.system.process().durable_backend_pauses
}

/// All current switches. Ignores backends that the configuration no longer has.
pub async fn all(core: &Core) -> Result<Pauses, StoreError> {
    let (models, backends) = tokio::try_join!(current(core), of_backends(core))?;
    let defined = defined_backends(core);
    let backends = backends.only(|name| defined.iter().any(|it| it == name));
    Ok(Pauses { models, backends })
}

/// The switches for a job submission, which may have read them together with its key.
pub async fn for_call(core: &Core, payer: &Payer) -> Result<Pause, StoreError> {
    match payer.before_jobs(core.now()) {
        Some(read) => Ok(read.pause.clone()),
        None => current(core).await,
    }
}

/// Polls for switches that another node changed. Estimates, and the jobs that this node has already taken, use the copy in memory. Runs
/// until the process stops.
pub async fn follow(core: Arc<Core>) {
    let mut is_readable = true;
    let accounts = core.system.accounts();
    let durable_of_backends = durable_of_backends(&core);
    while !core.is_ending() {
        let known = core.pause.read().clone();
        let known_backends = durable_of_backends.read().clone();
        match tokio::try_join!(core.store.pause(), core.store.backend_pauses()) {
            Ok((pause, backends)) => {
                // What this node has changed during the read is newer than what the read has found.
                if pause != known && *core.pause.read() == known {
                    accounts.publish_pause(pause);
                }
                if backends != known_backends && *durable_of_backends.read() == known_backends {
                    accounts.publish_backend_pauses(backends);
                }
                is_readable = true;
            }
            Err(error) if is_readable && !core.is_ending() => {
                tracing::error!(%error, "could not read the pause switches; retrying");
                is_readable = false;
            }
            Err(_) => {}
        }
        sleep(POLL_INTERVAL).await;
    }
}

/// Logs the paused backends at startup: a forgotten pause keeps jobs waiting, and their money reserved.
pub fn log_paused_backends(core: &Core) {
    for backend in core.system.backends() {
        if let Some(pause) = backend.pause {
            let (backend, reason) = (backend.name, pause.reason);
            tracing::warn!(
                backend,
                reason,
                "the backend is paused; `tintype backend resume` resumes it"
            );
        }
    }
}

/// Changes the switches. Writes nothing if nothing changes. A single process clears the pauses of backends that its configuration no
/// longer has; during an upgrade of several nodes, another node may have them.
///
/// # Errors
/// `Invalid` if the configuration has no such backend; `Conflict` if the call must begin no pause and would.
pub async fn change(
    core: &Core,
    caller: &Caller,
    change: PauseChange,
    unnamed: UnnamedPauses,
) -> Result<Pauses, Error> {
    let context = caller.require_operator()?;
    let guard = core.locks.operator.lock().await?;
    let (models, backends) = tokio::try_join!(current(core), core.store.backend_pauses())?;
    let before = Pauses { models, backends };
    let defined = defined_backends(core);
    check_backends(&change, &before.backends, &defined)?;
    let is_possible = change.check_paused(&before.models, &before.backends);
    is_possible.map_err(|error| Error::conflict(error.to_string()))?;
    let backends = change.apply_to_backends(&before.backends, unnamed);
    let after = Pauses {
        backends: match core.system.node() {
            None => backends.only(|name| defined.iter().any(|it| it == name)),
            Some(_) => backends,
        },
        models: change.apply(&before.models, unnamed),
    };
    let only_backends = Pauses {
        models: Pause::default(),
        backends: after.backends.clone(),
    };
    if facts(&only_backends).to_string().len() > MAX_BACKEND_FACTS {
        let message = "the names and reasons of all paused backends are too long together; give a shorter reason, or pause the models";
        return Err(Error::field("backends", message));
    }
    let (is_model_change, is_backend_change) = (
        after.models != before.models,
        after.backends != before.backends,
    );
    if !is_model_change && !is_backend_change {
        return Ok(after);
    }
    let [was, is] = [&before, &after].map(|it| Some(facts(it)));
    let subject = Subject::default();
    let mut writes = vec![context.record(core, Action::PauseChange, subject, was, is)];
    if is_model_change {
        writes.push(PAUSE.put(&(), &after.models));
    }
    if is_backend_change {
        writes.push(BACKEND_PAUSES.put(&(), &after.backends));
    }
    let accounts = Arc::clone(core.system.accounts());
    let (models, backends) = (after.models.clone(), after.backends.clone());
    let publish = move || {
        accounts.publish_pause(models);
        accounts.publish_backend_pauses(backends);
    };
    let change = Change::under_lock(guard, writes).then(publish);
    core.commit_pause(after.models.clone(), change).await?;
    if is_model_change {
        wait_for_decisions(|| core.store.engine().transactions()).await?;
    }
    Ok(after)
}

/// The names of the configured backends.
fn defined_backends(core: &Core) -> Vec<String> {
    let backends = core.system.backends().into_iter();
    backends.map(|it| it.name).collect()
}

/// A backend that is still recorded as paused may be named although the configuration no longer has it.
fn check_backends(
    change: &PauseChange,
    before: &BackendPauses,
    defined: &[String],
) -> Result<(), Error> {
    let mut faults = Vec::new();
    let is_known = |name: &String| defined.contains(name) || before.of(name).is_some();
    let lists = [
        ("backends", &change.backends),
        ("resume_backends", &change.resume_backends),
    ];
    for (field, names) in lists {
        for (at, name) in names.iter().flatten().enumerate() {
            if !is_known(name) {
                let (name, defined) = (shown(name), defined.join(", "));
                let message = format!("backend `{name}` is not defined; defined: {defined}");
                faults.push(FieldFault::new(format!("{field}[{at}]"), message));
            }
        }
    }
    let is_paused = |name: &String| change.backends.iter().flatten().any(|it| it == name);
    for (at, name) in change.resume_backends.iter().flatten().enumerate() {
        if is_paused(name) {
            let message = "the same call pauses this backend";
            faults.push(FieldFault::new(format!("resume_backends[{at}]"), message));
        }
    }
    match faults.is_empty() {
        true => Ok(()),
        false => Err(Error::invalid(faults)),
    }
}

/// Waits until every decision of a node that may have read the previous switches has ended, so that no call is accepted on them after
/// the answer. A single process decides under the lock of the switches, and has no transactions.
async fn wait_for_decisions(
    mut look: impl FnMut() -> Read<Option<TransactionNumbers>>,
) -> Result<(), EngineError> {
    let Some(TransactionNumbers { newest, .. }) = look().await? else {
        return Ok(());
    };
    let deadline = Instant::now() + MAX_DECISION_WAIT;
    while let Some(TransactionNumbers { oldest, .. }) = look().await?
        && oldest <= newest
        && Instant::now() < deadline
    {
        sleep(DECISION_POLL).await;
    }
    Ok(())
}

/// The switches as the audit log records them; reasons and backends only if there are any.
fn facts(pauses: &Pauses) -> Value {
    let Pauses {
        models: pause,
        backends,
    } = pauses;
    let tier = |tier: &Tier| (tier.as_str().to_owned(), json!(pause.tiers[tier.index()]));
    let mut facts = json!({
        "project": pause.project,
        "tiers": Value::Object(Tier::ALL.iter().map(tier).collect()),
    });
    if pause.reasons != PauseReasons::default() {
        let reason = |tier: &Tier| {
            let reason = &pause.reasons.tiers[tier.index()];
            (tier.as_str().to_owned(), json!(reason))
        };
        let reasons = Tier::ALL.iter().map(reason);
        let project = ("project".to_owned(), json!(pause.reasons.project));
        facts["reasons"] = Value::Object(reasons.chain([project]).collect());
    }
    if !backends.paused.is_empty() {
        facts["backends"] = json!(backends.paused.keys().collect::<Vec<_>>());
        let reasons = backends.paused.iter();
        let reasons =
            reasons.filter_map(|(name, it)| Some((name.clone(), json!(it.reason.as_ref()?))));
        facts["backend_reasons"] = Value::Object(reasons.collect());
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the looks in order, then the last one again.
    fn looks(numbers: &[[i64; 2]]) -> impl FnMut() -> Read<Option<TransactionNumbers>> {
        let mut numbers = numbers.iter().copied().peekable();
        move || {
            let found = match numbers.len() {
                1 => numbers.peek().copied(),
                _ => numbers.next(),
            };
            Ok(found.map(|[oldest, newest]| TransactionNumbers { oldest, newest })).into()
        }
    }

    async fn waited(numbers: &[[i64; 2]]) -> Duration {
        let began = Instant::now();
        wait_for_decisions(looks(numbers)).await.unwrap();
        began.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn earlier_transactions_are_waited_for_and_later_ones_are_not() {
        assert_eq!(waited(&[]).await, Duration::ZERO, "a single process");
        assert_eq!(waited(&[[9, 9], [10, 10]]).await, Duration::ZERO);
        let later = [[5, 9], [5, 10], [9, 11], [10, 12]];
        assert_eq!(waited(&later).await, DECISION_POLL * 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_transaction_is_waited_for_until_the_database_would_have_ended_that_of_a_node() {
        let waited = waited(&[[5, 9]]).await;
        let idle_transaction_timeout = Duration::from_secs(2);
        assert!(waited > idle_transaction_timeout, "{waited:?}");
        assert!(
            (MAX_DECISION_WAIT..MAX_DECISION_WAIT * 2).contains(&waited),
            "{waited:?}"
        );
    }
}
