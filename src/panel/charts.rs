//! What jobs came to day by day or hour by hour, for the charts: of an account, or of one of its keys.

use crate::application::state::AppState;
use crate::web::problem::{FieldFault, Problem};
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

/// Days of a chart, today included, unless asked otherwise.
const DAYS: i64 = 14;
const MOST_DAYS: i64 = 92;
/// Hours of a chart, this hour included.
const HOURS: i64 = 24;
const HOUR_MILLIS: i64 = 3_600_000;
/// Jobs that a chart of hours looks at, the newest first: it is for young accounts.
const MOST_JOBS: usize = 5_000;
const STEP: usize = 500;

/// What a chart shows.
#[derive(Clone, Copy)]
pub enum Span {
    Days(i64),
    /// The last 24 hours.
    Hours,
}

/// The days that a page asks for with `?days=`.
pub fn asked_days(request: &HttpRequest, otherwise: i64) -> Result<i64, Problem> {
    let read = || -> Result<i64, FieldFault> {
        match query::value(request, "days")? {
            Some(text) => query::number(&text, "days", 1, MOST_DAYS),
            None => Ok(otherwise),
        }
    };
    read().map_err(|fault| Problem::validation(vec![fault]))
}

/// The span that a page asks for; one day is shown hour by hour.
pub fn asked(request: &HttpRequest) -> Result<Span, Problem> {
    Ok(match asked_days(request, DAYS)? {
        1 => Span::Hours,
        days => Span::Days(days),
    })
}

/// The figures of a span, oldest first. Those of one key alone where one is named. Blocks for some reads of the store.
pub fn read(
    state: &AppState,
    account: AccountId,
    key: Option<KeyId>,
    span: Span,
) -> Result<Vec<Value>, StoreError> {
    match span {
        Span::Days(count) => days(state, account, key, count),
        Span::Hours => hours(state, account, key),
    }
}

/// What the jobs of an account came to on this day of UTC. Blocks for a read of the store.
pub fn today(state: &AppState, account: AccountId) -> Result<Option<Value>, StoreError> {
    Ok(days(state, account, None, 1)?.pop())
}

/// The last 24 hours: when each begins, done and failed jobs that ended in it, and what was charged.
fn hours(
    state: &AppState,
    account: AccountId,
    key: Option<KeyId>,
) -> Result<Vec<Value>, StoreError> {
    let last = state.now().millis().div_euclid(HOUR_MILLIS);
    let first = last - HOURS + 1;
    // A job of the day before may have ended in the first of these hours.
    let since = Timestamp::from_millis((first - HOURS) * HOUR_MILLIS);
    let mut hours: BTreeMap<i64, UsageTotals> = BTreeMap::new();
    let (mut below, mut looked_at) = (None, 0);
    loop {
        let from = Some(JobId::first_of(since));
        let jobs = state
            .store
            .jobs_of(account, Part::Ended, below, from, STEP)
            .wait()?;
        looked_at += jobs.len();
        below = jobs.last().map(|job| job.id);
        let is_last = jobs.len() < STEP || looked_at >= MOST_JOBS;
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
                    // A sum past what an amount can say is not drawn.
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

/// The last days, oldest first: date, done and failed jobs, and what was charged. Blocks for some reads of the store.
pub fn days(
    state: &AppState,
    account: AccountId,
    key: Option<KeyId>,
    count: i64,
) -> Result<Vec<Value>, StoreError> {
    let today = state.now().day();
    let first = today - count + 1;
    let mut days: BTreeMap<i64, UsageTotals> = BTreeMap::new();
    state
        .store
        .each_daily_usage_since(account, first, |place, tally| {
            if key.is_none_or(|it| it == place.key) {
                let day = days.entry(place.day).or_default();
                // A sum past what an amount can say is not drawn.
                *day = day.plus(tally.totals()).unwrap_or(*day);
            }
            Ok(())
        })
        .wait()?;
    let day = |day: i64| {
        let tally = days.get(&day).copied().unwrap_or_default();
        let mut view = figures(&tally);
        view["day"] = json!(Timestamp::of_day(day).date());
        view
    };
    Ok((first..=today).map(day).collect())
}
