//! What can be told before a body is read, so that nobody sends 200 MB for nothing. All of it is decided again once the
//! request is known.

use super::refusal::Refusal;
use super::state::CompatState;
use crate::application::payer::Payer;
use crate::application::state::AppState;
use crate::application::{availability, balance_check, pause};
use actix_web::web::Data;
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::api_key::ApiKey;
use tintype_storage::domain::tier::Tier;
use tintype_storage::store::IdempotentCall;

/// Refuses a call that can be for one of these models alone, and could begin no job of any. One that may be answered with a
/// job that is there already is let through: that costs nothing, and is answered also while paused.
///
/// # Errors
/// Paused or full, one call too many, or too little money for the cheapest picture.
pub async fn check(
    state: &Data<CompatState>,
    caller: &Payer,
    name: Option<&str>,
    tiers: &[Tier],
) -> Result<(), Refusal> {
    if may_be_there(state, &caller.key, name).await? {
        return Ok(());
    }
    let pause = pause::for_call(state, caller).await?;
    let mut shut = None;
    let mut open = Vec::new();
    for tier in tiers {
        let is_open = availability::check_pause(&pause, &[*tier]);
        match is_open.and_then(|()| availability::check_queue(state, 1)) {
            Ok(()) => open.push(*tier),
            Err(error) => {
                shut.get_or_insert(error);
            }
        }
    }
    if let (true, Some(error)) = (open.is_empty(), shut) {
        return Err(error.into());
    }
    caller.check_rate()?;
    if let Some(price) = cheapest(state, &open) {
        balance_check::check(&state.app, &caller.key, price).await?;
    }
    Ok(())
}

/// The same where the model is told in the body: any that the key is scoped for.
pub async fn check_any(
    state: &Data<CompatState>,
    caller: &Payer,
    name: Option<&str>,
) -> Result<(), Refusal> {
    let tiers = Tier::ALL.iter().copied();
    let allowed: Vec<Tier> = tiers
        .filter(|tier| caller.check_scope(*tier).is_ok())
        .collect();
    check(state, caller, name, &allowed).await
}

async fn may_be_there(
    state: &CompatState,
    key: &ApiKey,
    name: Option<&str>,
) -> Result<bool, Refusal> {
    let now = state.now();
    let Some(name) = name else {
        return Ok(state.detached_jobs.has_any(key.id, now));
    };
    let call = IdempotentCall::Generation;
    let first = state
        .store
        .idempotency(call, key.account, name, now)
        .await?;
    Ok(first.is_some())
}

fn cheapest(state: &AppState, tiers: &[Tier]) -> Option<Amount> {
    let prices = tiers
        .iter()
        .flat_map(|tier| &state.catalog.tier(*tier).prices);
    prices.map(|(_, price)| *price).min()
}
