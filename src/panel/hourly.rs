//! The chart of the last 24 hours: jobs that ended in each hour, read from the job records.

use super::Panel;
use super::chart_view::{Chart, figures};
use crate::application::blocking::blocking;
use crate::application::core::Core;
use crate::cost_cache::CostCache;
use crate::web::problem::Problem;
use actix_web::web::Data;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;
use tintype_fair_semaphore::FairSemaphore;
use tintype_storage::domain::daily_usage::UsageTotals;
use tintype_storage::domain::ids::{AccountId, KeyId};
use tintype_storage::domain::job::{Job, JobState};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::{JobRange, Part, StoreError};

/// The current hour included.
const HOURS: i64 = 24;
const HOUR_MILLIS: i64 = 3_600_000;
/// Jobs that one chart reads. From sled, they take an unoptimized build 0.7 s.
const MAX_JOBS: usize = 100_000;
const PAGE: usize = 500;
/// Charts that are read at the same time; one per account.
const MAX_CONCURRENT: u64 = 2;
/// A chart of fewer jobs is not cached: reading it again is cheap, and the caller sees a job as soon as it ends.
const MIN_CACHED: usize = 5_000;

type Subject = (AccountId, Option<KeyId>);

/// The charts of accounts and keys with many jobs, and the permits to read one.
pub struct HourlyCharts {
    permits: FairSemaphore<AccountId>,
    cached: CostCache<Subject, Chart>,
}

impl Default for HourlyCharts {
    fn default() -> Self {
        Self {
            permits: FairSemaphore::new(MAX_CONCURRENT, 1),
            cached: CostCache::default(),
        }
    }
}

/// The last 24 hours of one key or of the whole account: the start of each hour, and the jobs that ended in it.
pub async fn read(
    panel: Data<Panel>,
    core: Arc<Core>,
    account: AccountId,
    key: Option<KeyId>,
) -> Result<Chart, Problem> {
    let subject = (account, key);
    if let Some(chart) = panel.hourly.cached.get(&subject) {
        return Ok(chart);
    }
    let permit = panel.hourly.permits.acquire(account, 1).await;
    Ok(blocking(move || {
        // The read itself releases the permit, because it continues after a disconnect.
        let _permit = permit;
        // Another caller may have read it while this one waited.
        if let Some(chart) = panel.hourly.cached.get(&subject) {
            return Ok(chart);
        }
        let began = Instant::now();
        let (chart, jobs) = sum_up(&core, subject)?;
        if jobs >= MIN_CACHED {
            let cost = began.elapsed();
            panel.hourly.cached.put(subject, chart.clone(), cost);
        }
        Ok::<_, StoreError>(chart)
    })
    .await?)
}

/// Returns the chart and the number of jobs that it read. Blocks.
fn sum_up(core: &Core, subject: Subject) -> Result<(Chart, usize), StoreError> {
    let (account, key) = subject;
    let last = core.now().millis().div_euclid(HOUR_MILLIS);
    let first = last - HOURS + 1;
    let first_day = Timestamp::from_millis(first * HOUR_MILLIS).day();
    // A job may have waited for days before it ended, so its id does not tell whether an earlier job belongs to the chart.
    let ended = ended_since(core, subject, first_day)?;
    let mut hours: BTreeMap<i64, UsageTotals> = BTreeMap::new();
    let (mut below, mut count, mut found, mut oldest) = (None, 0, 0, None);
    while found < ended && count < MAX_JOBS {
        let page = PAGE.min(MAX_JOBS - count);
        let jobs = core
            .store
            .jobs_of(account, Part::Ended, JobRange::below(below), page)
            .wait()?;
        let Some(job) = jobs.last() else { break };
        (below, oldest) = (Some(job.id), Some(job.created_at));
        count += jobs.len();
        for job in jobs.iter().filter(|job| key.is_none_or(|it| it == job.key)) {
            let finished_at = job.state.finished_at();
            if finished_at.is_some_and(|at| at.day() >= first_day) {
                found += 1;
                add(&mut hours, first, job);
            }
        }
    }
    let hour = |hour: i64| {
        let sums = hours.get(&hour).copied().unwrap_or_default();
        let mut view = figures(&sums);
        view["hour"] = json!(Timestamp::from_millis(hour * HOUR_MILLIS).to_string());
        view
    };
    let chart = Chart {
        bars: (first..=last).map(hour).collect(),
        since: oldest.filter(|_| found < ended),
    };
    Ok((chart, count))
}

/// The jobs that ended since the beginning of a day.
fn ended_since(core: &Core, (account, key): Subject, day: i64) -> Result<u64, StoreError> {
    let mut ended = 0;
    core.store
        .each_daily_usage(account, day..=i64::MAX, |position, usage| {
            if key.is_none_or(|it| it == position.key) {
                let totals = usage.totals();
                ended += totals.done + totals.failed;
            }
            Ok(())
        })
        .wait()?;
    Ok(ended)
}

fn add(hours: &mut BTreeMap<i64, UsageTotals>, first: i64, job: &Job) {
    let ended = job.state.finished_at().map(|at| at.millis());
    let hour = ended.map_or(i64::MIN, |at| at.div_euclid(HOUR_MILLIS));
    if hour < first {
        return;
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
