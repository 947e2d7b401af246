//! The admission of a job, of a batch, or of several images of one call: the checks between a valid request and the account's decision,
//! and the wait for the decision.

use super::job_refusal;
use crate::application::caller::payer::Payer;
use crate::application::core::Core;
use crate::application::error::{self, Error, ErrorKind, WITH_SAME_KEY};
use crate::application::idempotency;
use crate::application::operations::{pause, queue};
use crate::application::services::GenerationService;
use crate::application::settings::Settings;
use std::ops::ControlFlow;
use tintype_actors::account::{AccountHandle, CallerConnection, InFlightGuard, Overloaded, Reply};
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::api_key::ApiKey;
use tintype_storage::domain::job::Callback;
use tintype_storage::domain::tier::Tier;
use tintype_storage::domain::webhook;
use tintype_storage::engine::deferred_wake::DeferredWake;
use tintype_storage::store::{AcceptError, IdempotencyUse, IdempotentCall};
use tokio::sync::oneshot;
use uuid::Uuid;

pub struct AdmissionRequest<'a> {
    pub call: IdempotentCall,
    pub used: Option<&'a IdempotencyUse>,
    pub models: Vec<Tier>,
    pub jobs: usize,
    /// The sum of the jobs' prices.
    pub price: Amount,
    pub callback_url: Option<&'a str>,
    pub before_decision: BeforeDecision,
}

/// What a call does before the account decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BeforeDecision {
    /// The decision alone checks the balance and finds a used idempotency key.
    Nothing,
    StoresText,
    Inputs {
        are_fetched: bool,
    },
}

/// A call that has passed the checks.
pub struct Admission {
    account: AccountHandle,
    pub callback: Option<Callback>,
}

impl Admission {
    /// Breaks with the id of the record of the first call if this one is a replay. Looks for the first call before anything is fetched
    /// or counted. Looks again before it refuses, because the first call may have been accepted meanwhile.
    ///
    /// # Errors
    /// Those of [`Self::check`]; `IdempotencyKeyReused`
    pub async fn of(
        generations: &GenerationService,
        caller: &Payer,
        request: &AdmissionRequest<'_>,
    ) -> Result<ControlFlow<Uuid, Self>, Error> {
        let core = &generations.core;
        let replay = || idempotency::replay(core, request.call, caller.account(), request.used);
        if request.before_decision != BeforeDecision::Nothing
            && let Some(first) = replay().await?
        {
            return Ok(ControlFlow::Break(first));
        }
        match Self::check(generations, caller, request).await {
            Ok(admission) => Ok(ControlFlow::Continue(admission)),
            Err(error) => match replay().await? {
                Some(first) => Ok(ControlFlow::Break(first)),
                None => Err(error),
            },
        }
    }

    /// Steps 4 and 5 of the published order.
    ///
    /// # Errors
    /// `Paused`, `Overloaded`, `RateLimited`, `Invalid`; those of [`check_funds`]
    pub async fn check(
        generations: &GenerationService,
        caller: &Payer,
        request: &AdmissionRequest<'_>,
    ) -> Result<Self, Error> {
        let core = &generations.core;
        // A cached key comes only with a call that does nothing before its decision, which checks the pause and the live jobs again.
        let leaves_to_decision = caller.is_cached;
        if !leaves_to_decision {
            let pause = pause::for_call(core, caller).await?;
            let mut models = request.models.iter();
            models.try_for_each(|tier| pause.admit(*tier))?;
        }
        check_queue(core, &generations.settings, request.jobs)?;
        caller.check_rate()?;
        let account = core.account_actor(caller.account(), error::account_is_gone);
        let account = account.await?;
        let refused = |refusal| job_refusal::error(core, refusal);
        if !leaves_to_decision {
            let read = caller.before_jobs(core.now());
            let checked = account.check_live_jobs(&caller.key, request.jobs, read);
            checked.await.map_err(refused)?;
        }
        let callback = callback_of(core, caller, request.callback_url).await?;
        if let BeforeDecision::Inputs { are_fetched } = request.before_decision {
            generations.limits.admit_inputs(&caller.key, are_fetched)?;
        }
        if request.before_decision != BeforeDecision::Nothing {
            check_funds(core, &caller.key, request.price).await?;
        }
        Ok(Self { account, callback })
    }

    /// Lets the account decide about what `send` sends, and waits until the decision is durable. The account refuses it if this future
    /// is dropped or `connection` is closed before.
    ///
    /// # Errors
    /// The person may not submit any more, the account refuses, or the process stops.
    pub async fn reserve<T>(
        &self,
        core: &Core,
        caller: &Payer,
        connection: Option<CallerConnection>,
        send: impl FnOnce(&AccountHandle, Reply<T, AcceptError>) -> Result<InFlightGuard, Overloaded>,
    ) -> Result<T, Error> {
        if let Some(person) = &caller.person {
            person.check(core).await?;
        }
        let (reply, decision) = oneshot::channel();
        let reply = Reply::from(reply).with_connection(connection);
        let _counted = send(&self.account, reply).map_err(|_| error::busy())?;
        match DeferredWake::new(decision).await {
            Ok(outcome) => outcome.map_err(|refusal| job_refusal::error(core, refusal)),
            Err(_) if core.fail_stop.has_tripped() => Err(error::stopping()),
            Err(_) => Err(error::busy()),
        }
    }
}

/// Refuses while the queue has no room for this many jobs.
///
/// # Errors
/// `Overloaded`
pub fn check_queue(core: &Core, settings: &Settings, jobs: usize) -> Result<(), Error> {
    if !queue::has_room(core, settings, jobs) {
        let detail = format!("the queue of the service is full; try again later{WITH_SAME_KEY}");
        return Err(Error::new(ErrorKind::Overloaded, detail).retry_after(5));
    }
    Ok(())
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

/// Refuses a price that exceeds the balance, the limits of the account or the limits of the key. The decision checks again.
///
/// # Errors
/// `InsufficientBalance`, `AccountLimitReached`, `KeyLimitReached`
pub async fn check_funds(core: &Core, key: &ApiKey, price: Amount) -> Result<(), Error> {
    let account = core.store.account(key.account).await?;
    let account = account.ok_or_else(error::account_is_gone)?;
    let refused = |refusal| job_refusal::error(core, refusal);
    let held = account.balances.hold(price).map_err(AcceptError::from);
    held.map_err(refused)?;
    let within_limits = account.check_spending(price, core.now());
    within_limits.map_err(|limit| refused(AcceptError::AccountLimit(limit)))?;
    let actor = core.account_actor(key.account, error::account_is_gone);
    let within_limits = actor.await?.check_key_spending(key, price).await;
    within_limits.map_err(refused)
}
