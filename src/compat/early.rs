//! What can be told before a body is read, so that nobody sends 200 MB for nothing. All of it is decided again once the
//! request is known.

use super::refusal::Refusal;
use crate::application::rate_limit;
use crate::application::state::AppState;
use crate::compat::state::CompatState;
use crate::http::{funds, open};
use crate::web::admission::Admitted;
use actix_web::web;
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
    state: &web::Data<CompatState>,
    admitted: &Admitted,
    name: Option<&str>,
    tiers: &[Tier],
) -> Result<(), Refusal> {
    let key = &admitted.key;
    if may_be_there(state, key, name)? {
        return Ok(());
    }
    let mut shut = None;
    let mut open = Vec::new();
    for tier in tiers {
        match open::check(state, *tier) {
            Ok(()) => open.push(*tier),
            Err(problem) => {
                shut.get_or_insert(problem);
            }
        }
    }
    if let (true, Some(problem)) = (open.is_empty(), shut) {
        return Err(problem.into());
    }
    rate_limit::admit(admitted.standing)?;
    Ok(funds::check(&state.app, key, least(state, &open)).await?)
}

/// The same where the model is told in the body: any that the key is scoped for.
pub async fn check_any(
    state: &web::Data<CompatState>,
    admitted: &Admitted,
    name: Option<&str>,
) -> Result<(), Refusal> {
    let tiers = Tier::ALL.iter().copied();
    let allowed = tiers.filter(|tier| admitted.key.allows(*tier));
    let allowed: Vec<Tier> = allowed.collect();
    check(state, admitted, name, &allowed).await
}

fn may_be_there(state: &CompatState, key: &ApiKey, name: Option<&str>) -> Result<bool, Refusal> {
    let now = state.now();
    let Some(name) = name else {
        return Ok(state.orphans.has_any(key.id, now));
    };
    let call = IdempotentCall::Generation;
    let first = state.store.idempotency(call, key.account, name, now)?;
    Ok(first.is_some())
}

fn least(state: &AppState, tiers: &[Tier]) -> Amount {
    let prices = tiers
        .iter()
        .flat_map(|tier| &state.catalog.offer(*tier).prices);
    prices.map(|(_, price)| *price).min().unwrap_or_default()
}
