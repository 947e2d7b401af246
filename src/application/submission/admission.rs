//! The admission of a job, of a batch, or of several images of one call: the checks between a valid request and the account's decision,
//! and the wait for the decision.

use super::job_refusal;
use crate::application::caller::payer::Payer;
use crate::application::core::Core;
use crate::application::error::{self, Error, ErrorKind};
use crate::application::idempotency;
use crate::application::limits::rate_limit::RateStates;
use crate::application::operations::{pause, queue};
use crate::application::services::GenerationService;
use crate::application::settings::Settings;
use std::ops::ControlFlow;
use tintype_actors::account::{AccountHandle, CallerConnection, InFlightGuard, Overloaded, Reply};
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::api_key::{ApiKey, RateLimit};
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::job::Callback;
use tintype_storage::domain::tier::Tier;
use tintype_storage::domain::webhook;
use tintype_storage::engine::deferred_wake::DeferredWake;
use tintype_storage::store::{AcceptError, IdempotencyUse};
use tokio::sync::oneshot;
use uuid::Uuid;

pub struct AdmissionRequest<'a> {
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

impl AdmissionRequest<'_> {
    /// Does the call do anything before its decision that the current key must allow?
    pub fn needs_current_key(&self) -> bool {
        self.used.is_some()
            || self.callback_url.is_some()
            || self.before_decision != BeforeDecision::Nothing
    }
}

/// A payer whose key comes from the cache: another node may have changed the key since. Only [`Admission::by_decision`] makes a payer
/// of it, for a call that does nothing before its decision.
pub struct CachedPayer(Payer);

impl CachedPayer {
    pub fn new(payer: Payer) -> Self {
        Self(payer)
    }

    pub fn account(&self) -> AccountId {
        self.0.account()
    }

    /// The rate limit of the cached key, and the rate limits after this call.
    pub fn counted(&self) -> (Option<RateLimit>, RateStates) {
        (self.0.key.rate_limit, self.0.counted)
    }

    /// # Errors
    /// `ModelNotAllowed`, by the cached key
    pub fn check_scope(&self, tier: Tier) -> Result<(), Error> {
        self.0.check_scope(tier)
    }

    /// # Errors
    /// `RateLimited`, by the cached limits
    pub fn check_rate(&self) -> Result<(), Error> {
        self.0.check_rate()
    }
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
        payer: &Payer,
        request: &AdmissionRequest<'_>,
    ) -> Result<ControlFlow<Uuid, Self>, Error> {
        let core = &generations.core;
        let replay = || idempotency::find_replay(core, payer.account(), request.used);
        if request.before_decision != BeforeDecision::Nothing
            && let Some(first) = replay().await?
        {
            return Ok(ControlFlow::Break(first));
        }
        match Self::check(generations, payer, request).await {
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
        payer: &Payer,
        request: &AdmissionRequest<'_>,
    ) -> Result<Self, Error> {
        let core = &generations.core;
        let pause = pause::for_call(core, payer).await?;
        let mut models = request.models.iter();
        models.try_for_each(|tier| pause.admit(*tier))?;
        check_queue(core, &generations.settings, request.jobs)?;
        payer.check_rate()?;
        let account = core.account_actor(payer.account(), error::account_is_gone);
        let account = account.await?;
        let read = payer.before_jobs(core.now());
        let checked = account.check_live_jobs(&payer.key, request.jobs, read);
        let refused = |refusal| job_refusal::error(core, refusal);
        checked.await.map_err(refused)?;
        let callback = callback_of(core, payer, request.callback_url).await?;
        if let BeforeDecision::Inputs { are_fetched } = request.before_decision {
            generations.limits.admit_inputs(&payer.key, are_fetched)?;
        }
        if request.before_decision != BeforeDecision::Nothing {
            Box::pin(check_funds(core, &payer.key, request.price)).await?;
        }
        Ok(Self { account, callback })
    }

    /// Leaves all checks that read records to the decision, which reads the key again. `None` if the call needs the current key before.
    ///
    /// # Errors
    /// `Overloaded`, `RateLimited`
    pub async fn by_decision(
        generations: &GenerationService,
        payer: &CachedPayer,
        request: &AdmissionRequest<'_>,
    ) -> Result<Option<(Self, Payer)>, Error> {
        let CachedPayer(payer) = payer;
        if request.needs_current_key() {
            return Ok(None);
        }
        let core = &generations.core;
        check_queue(core, &generations.settings, request.jobs)?;
        payer.check_rate()?;
        let account = core.account_actor(payer.account(), error::account_is_gone);
        let admission = Self {
            account: account.await?,
            callback: None,
        };
        Ok(Some((admission, payer.clone())))
    }

    /// Lets the account decide about what `send` sends, and waits until the decision is durable. The account refuses it if this future
    /// is dropped or `connection` is closed before.
    ///
    /// # Errors
    /// The person may not submit any more, the account refuses, or the process stops.
    pub async fn reserve<T>(
        &self,
        core: &Core,
        payer: &Payer,
        connection: Option<CallerConnection>,
        send: impl FnOnce(&AccountHandle, Reply<T, AcceptError>) -> Result<InFlightGuard, Overloaded>,
    ) -> Result<T, Error> {
        if let Some(person) = &payer.person {
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
pub fn check_queue(core: &Core, settings: &Settings, jobs: usize) -> Result<(), Error> {
    if !queue::has_room(core, settings, jobs) {
        let detail = "the queue of the service is full; try again later";
        let full = Error::new(ErrorKind::Overloaded, detail);
        return Err(full.with_same_key().retry_after(5));
    }
    Ok(())
}

/// Finds the webhook that is registered with exactly this URL.
async fn callback_of(
    core: &Core,
    payer: &Payer,
    url: Option<&str>,
) -> Result<Option<Callback>, Error> {
    let Some(url) = url else {
        return Ok(None);
    };
    let webhooks = core.store.webhooks(payer.account()).await?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use tintype_storage::domain::request::Fingerprint;

    #[test]
    fn only_a_call_that_does_nothing_before_its_decision_may_use_a_cached_key() {
        let used = IdempotencyUse {
            name: "k".into(),
            fingerprint: Fingerprint([0; 32]),
        };
        let plain = || AdmissionRequest {
            used: None,
            models: vec![Tier::Fast],
            jobs: 1,
            price: Amount::ZERO,
            callback_url: None,
            before_decision: BeforeDecision::Nothing,
        };
        let does = |before_decision| AdmissionRequest {
            before_decision,
            ..plain()
        };
        assert!(!plain().needs_current_key());
        let others = [
            AdmissionRequest {
                used: Some(&used),
                ..plain()
            },
            AdmissionRequest {
                callback_url: Some("https://a.example/"),
                ..plain()
            },
            does(BeforeDecision::StoresText),
            does(BeforeDecision::Inputs { are_fetched: false }),
        ];
        assert!(others.iter().all(AdmissionRequest::needs_current_key));
    }
}
