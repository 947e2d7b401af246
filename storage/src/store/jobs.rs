//! Jobs as they lie in the store: live ones apart from ended ones, so that a restart reads no history.

use super::tables::{ENDED_JOBS, EXPIRIES, LIVE_JOBS};
use super::{All, Store, StoreError, Table};
use crate::domain::ids::{AccountId, JobId};
use crate::domain::job::Job;
use crate::domain::time::Timestamp;
use crate::engine::{Direction, KeyRange};
use std::cmp::Ordering;

/// Which of an account's jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    All,
    /// Those that are not terminal.
    Live,
    /// Those that are.
    Ended,
}

impl Store {
    /// A job of an account. A job of another account is not found, in the same time as one that does not exist.
    pub async fn job(&self, account: AccountId, id: JobId) -> Result<Option<Job>, StoreError> {
        // Jobs only ever move from live to ended, so looking in this order misses none that is on its way.
        match LIVE_JOBS.get(self, &(account, id)).await? {
            Some(job) => Ok(Some(job)),
            None => ENDED_JOBS.get(self, &(account, id)).await,
        }
    }

    /// The jobs of an account within a range of ids, live and ended ones together, newest first: at most `limit`, and never
    /// none while there are some. The next step goes on below the last of them.
    ///
    /// `below` is left out, `from` is not.
    pub async fn jobs_of(
        &self,
        account: AccountId,
        part: Part,
        below: Option<JobId>,
        from: Option<JobId>,
        limit: usize,
    ) -> Result<Vec<Job>, StoreError> {
        if below.is_some() && below <= from {
            return Ok(Vec::new());
        }
        let scan = async |other: Part, table: &JobTable| {
            if part == other {
                return Ok(Vec::new());
            }
            let range = within(table, account, below, from);
            table.scan(self, &range, Direction::Falling, limit).await
        };
        // Live ones first: a job that ends meanwhile is then found twice, and not missed. The ended one is the newer.
        let live = scan(Part::Ended, &LIVE_JOBS).await?;
        let ended = scan(Part::Live, &ENDED_JOBS).await?;
        Ok(merged(live, ended, |a, b| b.cmp(a), limit))
    }

    /// The jobs of an account from one id to another, both included, live and ended ones together, oldest first: at most `limit`,
    /// and never none while there are some.
    pub async fn rising_jobs_of(
        &self,
        account: AccountId,
        part: Part,
        from: JobId,
        to: JobId,
        limit: usize,
    ) -> Result<Vec<Job>, StoreError> {
        if from > to {
            return Ok(Vec::new());
        }
        let scan = async |other: Part, table: &JobTable| {
            if part == other {
                return Ok(Vec::new());
            }
            let range = table
                .range(&account)
                .starting_at(table.key(&(account, from)))
                .below(table.key(&(account, to.next())));
            table.scan(self, &range, Direction::Rising, limit).await
        };
        // Live ones first, as in `jobs_of`.
        let live = scan(Part::Ended, &LIVE_JOBS).await?;
        let ended = scan(Part::Live, &ENDED_JOBS).await?;
        Ok(merged(live, ended, JobId::cmp, limit))
    }

    /// Visits every job that is not terminal, in the order of account and acceptance.
    pub async fn each_live_job(
        &self,
        mut visit: impl FnMut(Job) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        LIVE_JOBS.each(self, &All, |_, job| visit(job)).await
    }

    /// Visits the live jobs of one account.
    pub async fn each_live_job_of(
        &self,
        account: AccountId,
        mut visit: impl FnMut(Job) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        LIVE_JOBS.each(self, &account, |_, job| visit(job)).await
    }

    /// Visits the jobs that fail if they are still queued at a moment.
    pub async fn each_expiry(
        &self,
        mut visit: impl FnMut(Timestamp, JobId, AccountId) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        EXPIRIES
            .each(self, &All, |(due, job), account| visit(due, job, account))
            .await
    }

    /// The first of those jobs whose moment is not after `now`.
    pub async fn expiries_until(
        &self,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<(Timestamp, JobId, AccountId)>, StoreError> {
        let next = Timestamp::from_millis(now.millis() + 1);
        let above = EXPIRIES.key(&(next, JobId::first_of(Timestamp::from_millis(0))));
        let range = EXPIRIES.range(&All).below(above);
        let due = EXPIRIES
            .scan(self, &range, Direction::Rising, limit)
            .await?;
        Ok(due
            .into_iter()
            .map(|((due, job), account)| (due, job, account))
            .collect())
    }

    pub async fn each_ended_job(
        &self,
        mut visit: impl FnMut(Job) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        ENDED_JOBS.each(self, &All, |_, job| visit(job)).await
    }
}

/// The first jobs of two lists that are in this order. Where both have a job, the ended one counts.
fn merged(
    live: Vec<((AccountId, JobId), Job)>,
    ended: Vec<((AccountId, JobId), Job)>,
    order: impl Fn(&JobId, &JobId) -> Ordering,
    limit: usize,
) -> Vec<Job> {
    let job = |(_, job): ((AccountId, JobId), Job)| job;
    // Most accounts have few jobs that live, and many pages none.
    if live.is_empty() || ended.is_empty() {
        return live.into_iter().chain(ended).map(job).collect();
    }
    let mut live = live.into_iter().map(job).peekable();
    let mut ended = ended.into_iter().map(job).peekable();
    let next = || match (live.peek(), ended.peek()) {
        (Some(a), Some(b)) => match order(&a.id, &b.id) {
            Ordering::Less => live.next(),
            Ordering::Equal => {
                live.next();
                ended.next()
            }
            Ordering::Greater => ended.next(),
        },
        (Some(_), None) => live.next(),
        (None, _) => ended.next(),
    };
    std::iter::from_fn(next).take(limit).collect()
}

type JobTable = Table<(AccountId, JobId), Job>;

fn within(
    table: &JobTable,
    account: AccountId,
    below: Option<JobId>,
    from: Option<JobId>,
) -> KeyRange {
    let range = table.range(&account);
    let range = match below {
        Some(id) => range.below(table.key(&(account, id))),
        None => range,
    };
    match from {
        Some(id) => range.starting_at(table.key(&(account, id))),
        None => range,
    }
}
