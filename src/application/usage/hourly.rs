//! The last 24 hours: jobs that ended in each hour, read from the job records.

use crate::application::blocking::blocking;
use crate::application::core::Core;
use crate::application::error::Error;
use crate::cost_cache::CostCache;
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
/// Jobs that one call reads. From sled, they take an unoptimized build 0.7 s.
const MAX_JOBS: usize = 100_000;
const PAGE: usize = 500;
/// Calls that read at the same time; one per account.
const MAX_CONCURRENT: u64 = 2;
/// Fewer jobs are not cached: reading them again is cheap, and the caller sees a job as soon as it ends.
const MIN_CACHED: usize = 5_000;

type Subject = (AccountId, Option<KeyId>);

#[derive(Clone)]
pub struct HourlyUsage {
    /// The start of each hour, oldest first, and the jobs that ended in it.
    pub hours: Vec<(Timestamp, UsageTotals)>,
    /// Set if earlier jobs of the hours were not read.
    pub since: Option<Timestamp>,
}

/// The hours of accounts and keys with many jobs, and the permits to read others.
pub struct HourlyReader {
    permits: FairSemaphore<AccountId>,
    cached: CostCache<Subject, HourlyUsage>,
}

impl Default for HourlyReader {
    fn default() -> Self {
        Self {
            permits: FairSemaphore::new(MAX_CONCURRENT, 1),
            cached: CostCache::default(),
        }
    }
}

impl HourlyReader {
    /// The hours of one key or of the whole account.
    pub async fn read(
        self: Arc<Self>,
        core: Arc<Core>,
        account: AccountId,
        key: Option<KeyId>,
    ) -> Result<HourlyUsage, Error> {
        let subject = (account, key);
        if let Some(usage) = self.cached.get(&subject) {
            return Ok(usage);
        }
        let permit = self.permits.acquire(account, 1).await;
        blocking(move || {
            // The read itself releases the permit, because it continues after a disconnect.
            let _permit = permit;
            // Another caller may have read it while this one waited.
            if let Some(usage) = self.cached.get(&subject) {
                return Ok(usage);
            }
            let began = Instant::now();
            let (usage, jobs) = sum_up(&core, subject)?;
            if jobs >= MIN_CACHED {
                self.cached.put(subject, usage.clone(), began.elapsed());
            }
            Ok::<_, StoreError>(usage)
        })
        .await
    }
}

/// Returns the hours and the number of jobs that it read. Blocks.
fn sum_up(core: &Core, subject: Subject) -> Result<(HourlyUsage, usize), StoreError> {
    let (account, key) = subject;
    let last = core.now().millis().div_euclid(HOUR_MILLIS);
    let first = last - HOURS + 1;
    let first_day = Timestamp::from_millis(first * HOUR_MILLIS).day();
    // A job may have waited for days before it ended, so its id does not tell whether an earlier job belongs to the hours.
    let ended = super::of_account(core, account, key, first_day..=i64::MAX)?.total;
    let ended = ended.done + ended.failed;
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
        let totals = hours.get(&hour).copied().unwrap_or_default();
        (Timestamp::from_millis(hour * HOUR_MILLIS), totals)
    };
    let usage = HourlyUsage {
        hours: (first..=last).map(hour).collect(),
        since: oldest.filter(|_| found < ended),
    };
    Ok((usage, count))
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
