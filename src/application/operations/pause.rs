//! The pause switches of the project and of each model, with their reasons.

use crate::application::caller::Caller;
use crate::application::caller::payer::Payer;
use crate::application::core::Core;
use crate::application::core::audit_context::Subject;
use crate::application::core::commit::Change;
use crate::application::error::Error;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::audit_log::Action;
use tintype_storage::domain::pause::{Pause, PauseChange, PauseReasons, UnnamedPauses};
use tintype_storage::domain::tier::Tier;
use tintype_storage::engine::{EngineError, Read, TransactionNumbers};
use tintype_storage::store::StoreError;
use tintype_storage::store::tables::PAUSE;
use tokio::time::{Instant, sleep};

/// How often a node reads switches that another node may have changed.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// A decision takes some milliseconds, and the database ends the transaction of a node that has stopped after 2 s. A longer
/// transaction is that of another program.
const MAX_DECISION_WAIT: Duration = Duration::from_secs(3);
const DECISION_POLL: Duration = Duration::from_millis(2);

/// The current switches. With several nodes they are read from the store, because another node may have changed them.
///
/// # Errors
/// The store fails.
pub async fn current(core: &Core) -> Result<Pause, StoreError> {
    match core.system.node() {
        None => Ok(core.pause.read().clone()),
        Some(_) => core.store.pause().await,
    }
}

/// The switches for a job submission, which may have read them together with its key.
///
/// # Errors
/// The store fails.
pub async fn for_call(core: &Core, caller: &Payer) -> Result<Pause, StoreError> {
    match caller.before_jobs(core.now()) {
        Some(read) => Ok(read.pause.clone()),
        None => current(core).await,
    }
}

/// Polls for switches that another node changed. Estimates, and the jobs that this node has already taken, use the copy in memory. Runs
/// until the process stops.
pub async fn follow(core: Arc<Core>) {
    let mut is_readable = true;
    while !core.is_ending() {
        match core.store.pause().await {
            Ok(pause) => {
                if *core.pause.read() != pause {
                    core.system.accounts().context().publish_pause(pause);
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

/// Changes the switches. Writes nothing if nothing changes.
pub async fn change(
    core: &Core,
    caller: &Caller,
    change: PauseChange,
    unnamed: UnnamedPauses,
) -> Result<Pause, Error> {
    let context = caller.operate()?;
    let guard = core.locks.operator.lock().await?;
    let before = current(core).await?;
    let pause = change.apply(&before, unnamed);
    if pause != before {
        let [was, is] = [&before, &pause].map(|it| Some(facts(it)));
        let subject = Subject::default();
        let entry = context.record(core, Action::PauseChange, subject, was, is);
        let writes = vec![PAUSE.put(&(), &pause), entry];
        let accounts = Arc::clone(core.system.accounts());
        let known = pause.clone();
        let publish = move || accounts.context().publish_pause(known);
        let change = Change::under_lock(guard, writes).then(publish);
        core.commit_pause(pause.clone(), change).await?;
        wait_for_decisions(|| core.store.engine().transactions()).await?;
    }
    Ok(pause)
}

/// Waits until every decision of a node that may have read the previous switches has ended, so that no call is accepted on them after
/// the answer. A single process decides under the lock of the switches, and has no transactions.
///
/// # Errors
/// The engine fails.
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

/// The switches as the audit log records them; reasons only if there are any.
fn facts(pause: &Pause) -> Value {
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
