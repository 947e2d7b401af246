//! Checks before the body is read, so that no caller sends 200 MB in vain. All of them are repeated once the request is parsed.

use super::refusal::Refusal;
use super::state::CompatState;
use crate::application::caller::payer::Payer;
use crate::application::error::Error;
use crate::application::idempotency;
use crate::application::operations::pause;
use crate::application::settings::Settings;
use crate::application::submission::admission::{check_funds, check_queue};
use actix_web::web::Data;
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::api_key::ApiKey;
use tintype_storage::domain::tier::Tier;
use tintype_storage::store::IdempotentCall;

/// Refuses a request for one of these models if no job can start on any of them. Admits a possible replay of an existing job, which
/// costs nothing and is answered even while paused. `attempt` is that of an SDK that numbers them.
///
/// # Errors
/// The models are paused, the queue is full, the rate limit is exceeded, or the balance does not cover the cheapest image.
pub async fn check(
    state: &Data<CompatState>,
    caller: &Payer,
    idempotency_key: Option<&str>,
    attempt: Option<u32>,
    tiers: &[Tier],
) -> Result<(), Refusal> {
    let may_be_replay = || may_be_replay(state, &caller.key, idempotency_key, attempt);
    if may_be_replay().await? {
        return Ok(());
    }
    let Err(refusal) = check_new(state, caller, tiers).await else {
        return Ok(());
    };
    // The first call may have been accepted meanwhile.
    match may_be_replay().await? {
        true => Ok(()),
        false => Err(refusal.into()),
    }
}

async fn check_new(state: &CompatState, caller: &Payer, tiers: &[Tier]) -> Result<(), Error> {
    let pause = pause::for_call(&state.core, caller).await?;
    let mut first_error = None;
    let mut available = Vec::new();
    for tier in tiers {
        let outcome = pause.admit(*tier).map_err(Error::from);
        match outcome.and_then(|()| check_queue(&state.core, &state.settings, 1)) {
            Ok(()) => available.push(*tier),
            Err(error) => {
                first_error.get_or_insert(error);
            }
        }
    }
    if let (true, Some(error)) = (available.is_empty(), first_error) {
        return Err(error);
    }
    caller.check_rate()?;
    if let Some(price) = cheapest(&state.settings, &available) {
        check_funds(&state.core, &caller.key, price).await?;
    }
    Ok(())
}

/// As [`check`], for a request that names its model in the body: checks all models that the key may use.
pub async fn check_any(
    state: &Data<CompatState>,
    caller: &Payer,
    idempotency_key: Option<&str>,
    attempt: u32,
) -> Result<(), Refusal> {
    let tiers = Tier::ALL.iter().copied();
    let allowed: Vec<Tier> = tiers
        .filter(|tier| caller.check_scope(*tier).is_ok())
        .collect();
    check(state, caller, idempotency_key, Some(attempt), &allowed).await
}

async fn may_be_replay(
    state: &CompatState,
    key: &ApiKey,
    idempotency_key: Option<&str>,
    attempt: Option<u32>,
) -> Result<bool, Refusal> {
    let Some(name) = idempotency_key else {
        let now = state.core.now();
        return Ok(state.recent_calls.has_earlier(key.id, attempt, now));
    };
    let call = IdempotentCall::Submission;
    let first = idempotency::lookup(&state.core, call, key.account, name).await?;
    Ok(first.is_some())
}

fn cheapest(settings: &Settings, tiers: &[Tier]) -> Option<Amount> {
    let prices = tiers
        .iter()
        .flat_map(|tier| &settings.catalog.tier(*tier).prices);
    prices.map(|(_, price)| *price).min()
}
