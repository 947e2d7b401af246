//! Step 4 of the published order of checks, and the wait for the account's decision. Jobs and batches share both.

use super::availability;
use super::job_refusal;
use crate::application::caller::payer::Payer;
use crate::application::core::Core;
use crate::application::error::{self, Error};
use crate::application::operations::pause;
use crate::application::services::GenerationService;
use tintype_actors::account::AccountHandle;
use tintype_storage::domain::job::Callback;
use tintype_storage::domain::tier::Tier;
use tintype_storage::domain::webhook;
use tintype_storage::engine::deferred_wake::DeferredWake;
use tintype_storage::store::AcceptError;
use tokio::sync::oneshot;

pub struct AdmissionRequest<'a> {
    pub models: Vec<Tier>,
    pub jobs: usize,
    pub callback_url: Option<&'a str>,
}

/// A call that has passed the checks of step 4.
pub struct Admission {
    pub account: AccountHandle,
    pub callback: Option<Callback>,
}

impl Admission {
    /// # Errors
    /// `Paused`, `Overloaded`, `RateLimited`, `Invalid`
    pub async fn check(
        generations: &GenerationService,
        caller: &Payer,
        request: &AdmissionRequest<'_>,
    ) -> Result<Self, Error> {
        let core = &generations.core;
        let read = caller.before_jobs(core.now());
        // A cached key comes only with a call that does nothing before its decision, which checks the pause and the live jobs again.
        let leaves_to_decision = caller.is_cached;
        if !leaves_to_decision {
            let pause = pause::for_call(core, caller).await?;
            availability::check_pause(&pause, &request.models)?;
        }
        availability::check_queue(core, &generations.settings, request.jobs)?;
        caller.check_rate()?;
        let account = core.account_actor(caller.account(), error::account_is_gone);
        let account = account.await?;
        if !leaves_to_decision {
            let checked = account
                .check_live_jobs(&caller.key, request.jobs, read)
                .await;
            checked.map_err(|refusal| job_refusal::error(core, refusal))?;
        }
        let callback = callback_of(core, caller, request.callback_url).await?;
        Ok(Self { account, callback })
    }
}

/// Finds the webhook that is registered with exactly this URL.
async fn callback_of(
    core: &Core,
    caller: &Payer,
    url: Option<&str>,
) -> Result<Option<Callback>, Error> {
    let Some(url) = url else {
        return Ok(None);
    };
    let webhooks = core.store.webhooks(caller.account()).await?;
    let named = webhook::choose(&webhooks, Some(url)).map(|it| Callback {
        webhook: it.id,
        url: it.url.clone(),
    });
    let message = "is not the URL of a registered webhook of this account";
    named
        .map(Some)
        .ok_or_else(|| Error::field("callback_url", message))
}

/// Waits until the decision of the account is durable.
///
/// # Errors
/// The account refuses, or the process stops.
pub async fn await_decision<T>(
    core: &Core,
    decision: oneshot::Receiver<Result<T, AcceptError>>,
) -> Result<T, Error> {
    match DeferredWake::new(decision).await {
        Ok(outcome) => outcome.map_err(|refusal| job_refusal::error(core, refusal)),
        Err(_) if core.fail_stop.has_tripped() => Err(error::stopping()),
        Err(_) => Err(error::busy()),
    }
}
