//! The chart of the last 24 hours: jobs that ended in each hour, read from the job records.

use super::Panel;
use super::chart_view::{Chart, figures};
use super::cost_cache::CostCache;
use crate::application::blocking::blocking;
use crate::application::core::Core;
use crate::web::problem::Problem;
use actix_web::web::Data;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;
use tintype_fair_semaphore::FairSemaphore;
use tintype_storage::domain::daily_usage::UsageTotals;
use tintype_storage::domain::ids::{AccountId, JobId, KeyId};
use tintype_storage::domain::job::{Job, JobState};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::{Part, StoreError};

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
fn sum_up(core: &Core, (account, key): Subject) -> Result<(Chart, usize), StoreError> {
    let last = core.now().millis().div_euclid(HOUR_MILLIS);
    let first = last - HOURS + 1;
    // A job that was created the day before may end in the first of these hours.
    let from = Some(JobId::first_of(Timestamp::from_millis(
        (first - HOURS) * HOUR_MILLIS,
    )));
    let mut hours: BTreeMap<i64, UsageTotals> = BTreeMap::new();
    let (mut below, mut count, mut oldest) = (None, 0, None);
    let is_whole = loop {
        let page = PAGE.min(MAX_JOBS - count);
        let jobs = core
            .store
            .jobs_of(account, Part::Ended, below, from, page)
            .wait()?;
        count += jobs.len();
        for job in jobs.iter().filter(|job| key.is_none_or(|it| it == job.key)) {
            add(&mut hours, first, job);
        }
        if let Some(job) = jobs.last() {
            below = Some(job.id);
            oldest = Some(job.created_at);
        }
        if jobs.len() < page {
            break true;
        }
        if count == MAX_JOBS {
            break core
                .store
                .jobs_of(account, Part::Ended, below, from, 1)
                .wait()?
                .is_empty();
        }
    };
    let hour = |hour: i64| {
        let sums = hours.get(&hour).copied().unwrap_or_default();
        let mut view = figures(&sums);
        view["hour"] = json!(Timestamp::from_millis(hour * HOUR_MILLIS).to_string());
        view
    };
    let chart = Chart {
        bars: (first..=last).map(hour).collect(),
        since: oldest.filter(|_| !is_whole),
    };
    Ok((chart, count))
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
