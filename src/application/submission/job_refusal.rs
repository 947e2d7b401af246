//! Errors for jobs that their account does not accept.

use super::queue_estimate;
use crate::application::core::Core;
use crate::application::error::{Error, ErrorKind, key_reused};
use std::time::Duration;
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::ledger::LedgerError;
use tintype_storage::domain::spending::{LimitReached, Period};
use tintype_storage::store::AcceptError;

/// Seconds before a retry if no job has ended lately.
const DEFAULT_RETRY_AFTER: u32 = 5;
const MAX_RETRY_AFTER: u32 = 60;
/// For a request that never fits. Clients that wait for at most a minute or two give up at once.
const NO_RETRY_AFTER: u32 = 3_600;

pub fn error(core: &Core, refusal: AcceptError) -> Error {
    match refusal {
        AcceptError::KeyReused => key_reused(refusal.to_string()),
        AcceptError::Caller(refusal) => refusal.into(),
        AcceptError::Paused(paused) => paused.into(),
        AcceptError::RateLowered => Error::new(ErrorKind::RateLimited, refusal.to_string()),
        AcceptError::TooManyLive { live, jobs, most }
        | AcceptError::TooManyLiveOfKey { live, jobs, most } => {
            let (advice, seconds) = if jobs > most {
                let advice = format!(
                    ", and the request has {jobs}; split it, or ask the operator for a higher limit"
                );
                (advice, NO_RETRY_AFTER)
            } else {
                let excess = (live + jobs).saturating_sub(most);
                let wait = queue_estimate::until_ended(core, live, excess);
                let advice = "; wait for some of them to finish".to_owned();
                (advice, wait.map_or(DEFAULT_RETRY_AFTER, retry_after))
            };
            Error::new(ErrorKind::RateLimited, format!("{refusal}{advice}")).retry_after(seconds)
        }
        AcceptError::TooManyKeys { .. } => {
            let detail =
                format!("{refusal}; wait for some of them to finish, or use one of these keys");
            Error::new(ErrorKind::RateLimited, detail).retry_after(DEFAULT_RETRY_AFTER)
        }
        AcceptError::AccountLimit(limit) => {
            let or = match limit.period {
                Period::Total => "",
                Period::Month | Period::Day => "or ",
            };
            let reached = limit_reached(core, &limit);
            let detail = format!("the account {reached}{or}ask the operator to raise the limit");
            Error::new(ErrorKind::AccountLimitReached, detail)
        }
        AcceptError::KeyLimit(limit) => {
            let reached = limit_reached(core, &limit);
            let detail = format!("the API key {reached}raise the limit, or use another key");
            Error::new(ErrorKind::KeyLimitReached, detail)
        }
        AcceptError::Ledger(error) => {
            let detail = format!("{}; add funds to the account", uncovered(core, error));
            Error::new(ErrorKind::InsufficientBalance, detail)
        }
        AcceptError::Store(error) => error.into(),
    }
}

/// Why the balance does not cover the price.
fn uncovered(core: &Core, error: LedgerError) -> String {
    let LedgerError::Insufficient {
        available,
        reserved,
        price,
    } = error
    else {
        return error.to_string();
    };
    let currency = &core.currency;
    let reserved = match reserved == Amount::ZERO {
        true => String::new(),
        false => {
            format!("; another {reserved} {currency} is reserved for jobs that have not ended")
        }
    };
    format!(
        "the available balance of {available} {currency} does not cover the price of {price} {currency}{reserved}"
    )
}

/// What an account or a key has reached, and the first half of the advice: when the limit counts anew.
fn limit_reached(core: &Core, reached: &LimitReached) -> String {
    let LimitReached {
        period,
        limit,
        used,
        price,
    } = reached;
    let currency = &core.currency;
    let wait = match period {
        Period::Total => "",
        Period::Month => "wait until the next UTC month, ",
        Period::Day => "wait until the next UTC day, ",
    };
    format!(
        "has a spend limit of {limit} {currency} {period}, of which {used} {currency} is spent or reserved; \
         the price is {price} {currency}; {wait}"
    )
}

/// The wait in whole seconds, between 1 and the longest that a response asks for.
pub fn retry_after(wait: Duration) -> u32 {
    let seconds = wait.as_millis().div_ceil(1_000);
    u32::try_from(seconds).map_or(MAX_RETRY_AFTER, |it| it.clamp(1, MAX_RETRY_AFTER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_is_rounded_up_to_seconds_between_1_and_60() {
        for (millis, seconds) in [(0, 1), (1_000, 1), (1_001, 2), (60_001, 60), (u64::MAX, 60)] {
            assert_eq!(retry_after(Duration::from_millis(millis)), seconds);
        }
    }
}
