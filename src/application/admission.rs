//! Step 4 of the published order of checks, and the outcome of the decision: the same for one job and for a batch.

use super::availability;
use super::error::{self, Error};
use super::pause;
use super::payer::Payer;
use super::state::AppState;
use tintype_actors::account::AccountHandle;
use tintype_storage::domain::job::Callback;
use tintype_storage::domain::tier::Tier;
use tintype_storage::domain::webhook;
use tintype_storage::engine::deferred_wake::DeferredWake;
use tintype_storage::store::AcceptError;
use tokio::sync::oneshot;

/// What a call asks for.
pub struct Asked<'a> {
    /// The models of its jobs.
    pub models: Vec<Tier>,
    /// How many jobs.
    pub jobs: usize,
    pub callback_url: Option<&'a str>,
}

/// What a call finds that no check of step 4 refuses.
pub struct Admitted {
    pub account: AccountHandle,
    pub callback: Option<Callback>,
}

impl Admitted {
    /// Makes the checks.
    ///
    /// # Errors
    /// `Paused`, `Overloaded`, `RateLimited`, `Invalid`
    pub async fn of(state: &AppState, caller: &Payer, asked: &Asked<'_>) -> Result<Self, Error> {
        let read = caller.before_jobs.as_deref();
        // The decision reads both for itself, and only the check of a callback has to come after them.
        let leaves_to_decision = caller.is_remembered && asked.callback_url.is_none();
        if !leaves_to_decision {
            let pause = pause::for_call(state, caller).await?;
            availability::check_pause(&pause, &asked.models)?;
        }
        availability::check_queue(state, asked.jobs)?;
        caller.check_rate()?;
        let account = state.system.accounts().get(caller.account())?;
        let account = account.ok_or_else(error::account_is_gone)?;
        if !leaves_to_decision {
            let key = &caller.key;
            account.check_live_jobs(key, asked.jobs, read).await?;
        }
        let callback = callback_of(state, caller, asked.callback_url).await?;
        Ok(Self { account, callback })
    }
}

/// The webhook that the caller names, which must be registered with exactly this URL.
async fn callback_of(
    state: &AppState,
    caller: &Payer,
    url: Option<&str>,
) -> Result<Option<Callback>, Error> {
    let Some(url) = url else {
        return Ok(None);
    };
    let webhooks = state.store.webhooks(caller.account()).await?;
    let named = webhook::choose(&webhooks, Some(url)).map(|it| Callback {
        webhook: it.id,
        url: it.url.clone(),
    });
    let message = "is not the URL of a registered webhook of this account";
    named
        .map(Some)
        .ok_or_else(|| Error::field("callback_url", message))
}

/// The decision of the account, once it is durable.
///
/// # Errors
/// Why the account has refused; or the process stops.
pub async fn decided<T>(
    state: &AppState,
    answer: oneshot::Receiver<Result<T, AcceptError>>,
) -> Result<T, Error> {
    match DeferredWake::new(answer).await {
        Ok(outcome) => Ok(outcome?),
        Err(_) if state.fail_stop.has_tripped() => Err(error::stopping()),
        Err(_) => Err(error::busy()),
    }
}
