//! Chart data: done jobs, failed jobs and charges of an account or a key, per day or per hour.

use crate::application::core::Core;
use crate::web::problem::Problem;
use crate::web::query;
use actix_web::HttpRequest;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tintype_storage::domain::daily_usage::UsageTotals;
use tintype_storage::domain::ids::{AccountId, JobId, KeyId};
use tintype_storage::domain::job::JobState;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::{Part, StoreError};

/// Default number of days, today included.
const DAYS: i64 = 14;
const MAX_DAYS: i64 = 92;
/// The current hour included.
const HOURS: i64 = 24;
const HOUR_MILLIS: i64 = 3_600_000;
/// The hourly chart reads at most this many of the newest jobs: it is for new accounts.
const MAX_JOBS: usize = 5_000;
const PAGE: usize = 500;

#[derive(Clone, Copy)]
pub enum Span {
    Days(i64),
    /// The last 24 hours.
    Hours,
}

/// Reads `?days=`.
pub fn days_param(request: &HttpRequest, default: i64) -> Result<i64, Problem> {
    let days = |name: &str, text: &str| query::number(name, text, 1, MAX_DAYS);
    Ok(query::parsed(request, "days", days)?.unwrap_or(default))
}

/// Reads `?days=` as a span; one day is shown per hour.
pub fn span_param(request: &HttpRequest) -> Result<Span, Problem> {
    Ok(match days_param(request, DAYS)? {
        1 => Span::Hours,
        days => Span::Days(days),
    })
}

/// The figures of a span, oldest first, of one key or of the whole account. Blocks on reads of the store.
pub fn read(
    core: &Core,
    account: AccountId,
    key: Option<KeyId>,
    span: Span,
) -> Result<Vec<Value>, StoreError> {
    match span {
        Span::Days(count) => days(core, account, key, count),
        Span::Hours => hours(core, account, key),
    }
}

/// The figures of an account for the current UTC day. Blocks on a read of the store.
pub fn today(core: &Core, account: AccountId) -> Result<Option<Value>, StoreError> {
    Ok(days(core, account, None, 1)?.pop())
}

/// The last 24 hours: the start of each hour, and the jobs that ended in it.
fn hours(core: &Core, account: AccountId, key: Option<KeyId>) -> Result<Vec<Value>, StoreError> {
    let last = core.now().millis().div_euclid(HOUR_MILLIS);
    let first = last - HOURS + 1;
    // A job that was created the day before may end in the first of these hours.
    let since = Timestamp::from_millis((first - HOURS) * HOUR_MILLIS);
    let mut hours: BTreeMap<i64, UsageTotals> = BTreeMap::new();
    let (mut below, mut count) = (None, 0);
    loop {
        let from = Some(JobId::first_of(since));
        let jobs = core
            .store
            .jobs_of(account, Part::Ended, below, from, PAGE)
            .wait()?;
        count += jobs.len();
        below = jobs.last().map(|job| job.id);
        let is_last = jobs.len() < PAGE || count >= MAX_JOBS;
        for job in jobs {
            let ended = job.state.finished_at().map(|at| at.millis());
            let hour = ended.map_or(i64::MIN, |at| at.div_euclid(HOUR_MILLIS));
            if hour < first || key.is_some_and(|it| it != job.key) {
                continue;
            }
            let sums = hours.entry(hour).or_default();
            match job.state {
                JobState::Done { .. } => {
                    sums.done += 1;
                    // An overflowing sum is not drawn.
                    sums.spent = sums.spent.plus(job.price).unwrap_or(sums.spent);
                }
                _ => sums.failed += 1,
            }
        }
        if is_last {
            break;
        }
    }
    let hour = |hour: i64| {
        let sums = hours.get(&hour).copied().unwrap_or_default();
        let mut view = figures(&sums);
        view["hour"] = json!(Timestamp::from_millis(hour * HOUR_MILLIS).to_string());
        view
    };
    Ok((first..=last).map(hour).collect())
}

pub fn figures(sums: &UsageTotals) -> Value {
    json!({
        "spent": sums.spent.to_string(),
        "done": sums.done,
        "failed": sums.failed,
    })
}

/// The last days, oldest first. Blocks on reads of the store.
pub fn days(
    core: &Core,
    account: AccountId,
    key: Option<KeyId>,
    count: i64,
) -> Result<Vec<Value>, StoreError> {
    let today = core.now().day();
    let first = today - count + 1;
    let mut days: BTreeMap<i64, UsageTotals> = BTreeMap::new();
    core.store
        .each_daily_usage_since(account, first, |position, usage| {
            if key.is_none_or(|it| it == position.key) {
                let day = days.entry(position.day).or_default();
                // An overflowing sum is not drawn.
                *day = day.plus(usage.totals()).unwrap_or(*day);
            }
            Ok(())
        })
        .wait()?;
    let day = |day: i64| {
        let totals = days.get(&day).copied().unwrap_or_default();
        let mut view = figures(&totals);
        view["day"] = json!(Timestamp::of_day(day).date());
        view
    };
    Ok((first..=today).map(day).collect())
}
