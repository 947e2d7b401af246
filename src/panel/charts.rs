//! What jobs came to day by day, for the charts: of an account, or of one of its keys.

use crate::application::state::AppState;
use crate::web::problem::{FieldFault, Problem};
use crate::web::query;
use actix_web::HttpRequest;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tintype_storage::domain::daily_usage::DailyUsage;
use tintype_storage::domain::ids::{AccountId, KeyId};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::StoreError;

/// Days of a chart, today included, unless asked otherwise.
const DAYS: i64 = 14;
const MOST_DAYS: i64 = 92;

/// The number of days that a page asks for with `?days=`.
pub fn asked(request: &HttpRequest) -> Result<i64, Problem> {
    let read = || -> Result<i64, FieldFault> {
        match query::value(request, "days")? {
            Some(text) => query::number(&text, "days", 1, MOST_DAYS),
            None => Ok(DAYS),
        }
    };
    read().map_err(|fault| Problem::validation(vec![fault]))
}

/// The last days, oldest first: date, done and failed jobs, and what was charged. Those of one key alone where one is named.
/// Blocks for a few reads of the store.
pub fn days(
    state: &AppState,
    account: AccountId,
    key: Option<KeyId>,
    count: i64,
) -> Result<Vec<Value>, StoreError> {
    let today = state.now().day();
    let first = today - count + 1;
    let mut days: BTreeMap<i64, DailyUsage> = BTreeMap::new();
    state
        .store
        .each_daily_usage_since(account, first, |place, tally| {
            if key.is_none_or(|it| it == place.key) {
                let day = days.entry(place.day).or_default();
                // A sum past what an amount can say is not drawn.
                *day = day.plus(tally).unwrap_or(*day);
            }
            Ok(())
        })
        .wait()?;
    let day = |day: i64| {
        let tally = days.get(&day).copied().unwrap_or_default();
        json!({
            "day": Timestamp::of_day(day).date(),
            "spent": tally.spent.to_string(),
            "done": tally.done,
            "failed": tally.failed,
        })
    };
    Ok((first..=today).map(day).collect())
}
