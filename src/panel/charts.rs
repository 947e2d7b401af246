//! Chart data: done jobs, failed jobs and charges of an account or a key, per day or per hour.

use super::Panel;
use super::chart_view::{Chart, day_figures};
use crate::application::blocking::blocking;
use crate::application::core::Core;
use crate::application::usage;
use crate::web::problem::{FieldFault, Problem};
use crate::web::queries::day_range::DayRange;
use crate::web::queries::query;
use actix_web::HttpRequest;
use actix_web::web::Data;
use serde_json::Value;
use std::ops::RangeInclusive;
use std::sync::Arc;
use tintype_storage::domain::ids::{AccountId, KeyId};
use tintype_storage::store::StoreError;

/// Default number of days of a chart, today included.
const DAYS: i64 = 14;
const MAX_DAYS: i64 = 92;

#[derive(Clone, Copy)]
pub enum Span {
    Days(i64),
    /// The last 24 hours.
    Hours,
}

/// Reads `?days=`.
fn days_param(request: &HttpRequest) -> Result<Option<i64>, FieldFault> {
    query::parsed(request, "days", |name, text| {
        query::number(name, text, 1, MAX_DAYS)
    })
}

/// Reads `?days=`, counted back from today, or `?from=` and `?to=`. `today` and the result count from 1970.
pub fn days_of(request: &HttpRequest, today: i64) -> Result<RangeInclusive<i64>, Problem> {
    let mut range = DayRange::default();
    for name in DayRange::NAMES {
        query::parsed(request, name, |name, text| range.take(name, text))?;
    }
    match days_param(request)? {
        Some(days) if range.is_empty() => Ok(today - days + 1..=today),
        Some(_) => {
            let message = "must not be given with `from` or `to`";
            Err(FieldFault::new("days", message).into())
        }
        None => Ok(range.days(today)?),
    }
}

/// Reads `?days=` as a span; one day is shown per hour.
pub fn span_param(request: &HttpRequest) -> Result<Span, Problem> {
    Ok(match days_param(request)?.unwrap_or(DAYS) {
        1 => Span::Hours,
        days => Span::Days(days),
    })
}

/// The chart of a span, of one key or of the whole account.
pub async fn read(
    panel: Data<Panel>,
    core: Arc<Core>,
    account: AccountId,
    key: Option<KeyId>,
    span: Span,
) -> Result<Chart, Problem> {
    let count = match span {
        Span::Hours => {
            let usage = panel.hourly.clone().read(core, account, key).await?;
            return Ok(Chart::of_hours(&usage));
        }
        Span::Days(count) => count,
    };
    let bars = blocking(move || days(&core, account, key, count)).await?;
    Ok(Chart { bars, since: None })
}

/// The figures of an account for the current UTC day. Blocks on a read of the store.
pub fn today(core: &Core, account: AccountId) -> Result<Option<Value>, StoreError> {
    Ok(days(core, account, None, 1)?.pop())
}

/// The last days, oldest first. Blocks on reads of the store.
fn days(
    core: &Core,
    account: AccountId,
    key: Option<KeyId>,
    count: i64,
) -> Result<Vec<Value>, StoreError> {
    let today = core.now().day();
    let days = today - count + 1..=today;
    let sums = usage::of_account(core, account, key, days.clone())?;
    Ok(days.map(|day| day_figures(&sums, day)).collect())
}
