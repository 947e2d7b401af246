//! Lists of jobs, newest first: one account's, or every account's.

use super::{Store, StoreError, decode, keys};
use crate::domain::ids::{AccountId, JobId};
use crate::domain::job::Job;
use crate::domain::time::Timestamp;
use crate::engine::{Direction, KeyRange};
use std::ops::Bound;
use uuid::Uuid;

/// Records read from the engine at a time.
const STEP: usize = 200;

/// A part of a list of jobs.
#[derive(Clone, Debug, Default)]
pub struct JobPage {
    /// The jobs.
    pub items: Vec<Job>,
    /// After which the next page begins; `None` at the end.
    pub next: Option<[u8; 16]>,
}

/// Which part of a list of jobs is wanted.
#[derive(Clone, Copy, Debug)]
pub struct JobWindow {
    /// Jobs at the most.
    pub limit: usize,
    /// The last id of the part before.
    pub after: Option<[u8; 16]>,
    /// None that were accepted before this moment; older ones are not even read.
    pub since: Option<Timestamp>,
    /// Jobs of one account that are looked at, at the most.
    pub most: usize,
}

/// The lowest id of a moment.
fn floor(moment: Timestamp) -> JobId {
    JobId(Uuid::from_u128((moment.millis() as u128) << 80))
}

impl Store {
    /// Jobs of an account that `lets` lets through, newest first.
    pub fn jobs_of(
        &self,
        account: AccountId,
        window: JobWindow,
        lets: impl Fn(&Job) -> bool,
    ) -> Result<JobPage, StoreError> {
        let (mut page, mut after, mut looked_at) = (JobPage::default(), window.after, 0);
        let step = STEP.min(window.most.max(1));
        loop {
            let jobs = self.newest_jobs(account, step, after, window.since)?;
            looked_at += jobs.len();
            let ended = jobs.len() < step;
            for job in jobs {
                if page.items.len() == window.limit {
                    page.next = page.items.last().map(|it| *it.id.as_bytes());
                    return Ok(page);
                }
                after = Some(*job.id.as_bytes());
                if lets(&job) {
                    page.items.push(job);
                }
            }
            if ended {
                return Ok(page);
            }
            if looked_at >= window.most {
                page.next = after;
                return Ok(page);
            }
        }
    }

    /// The newest jobs of an account before `after`. Ids are made in the order of acceptance, so live and ended ones are
    /// merged by id. The live ones are read first: a job that ends meanwhile is then met twice, never missed.
    fn newest_jobs(
        &self,
        account: AccountId,
        limit: usize,
        after: Option<[u8; 16]>,
        since: Option<Timestamp>,
    ) -> Result<Vec<Job>, StoreError> {
        let mut jobs = Vec::new();
        let nil = JobId(Uuid::nil());
        for place in [keys::live_job, keys::ended_job] {
            let whole = place(account, nil);
            let mut range = KeyRange::prefix(&whole[..whole.len() - 16]);
            if let Some(since) = since {
                range.from = Bound::Included(place(account, floor(since)));
            }
            if let Some(id) = after {
                range = range.below(place(account, JobId(Uuid::from_bytes(id))));
            }
            for (_, value) in self.engine().scan(&range, Direction::Falling, limit)? {
                jobs.push(decode::<Job>(&value)?);
            }
        }
        // Stable: of two records of one job, the ended one comes first.
        jobs.sort_by_key(|job| (std::cmp::Reverse(job.id), !job.state.is_terminal()));
        jobs.dedup_by_key(|job| job.id);
        jobs.truncate(limit);
        Ok(jobs)
    }

    /// A job of whichever account: each one is asked, as jobs lie by account.
    pub fn find_job(&self, id: JobId) -> Result<Option<Job>, StoreError> {
        let mut after = None;
        loop {
            let page = self.accounts(1_000, after)?;
            for account in &page.items {
                if let Some(job) = self.job(account.id, id)? {
                    return Ok(Some(job));
                }
            }
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(None),
            }
        }
    }

    /// As [`Store::jobs_of`], over all accounts.
    pub fn all_jobs(
        &self,
        window: JobWindow,
        lets: impl Fn(&Job) -> bool,
    ) -> Result<JobPage, StoreError> {
        let limit = window.limit;
        let mut items = Vec::new();
        let mut more: Option<[u8; 16]> = None;
        self.each_account(|account| {
            let page = self.jobs_of(account.id, window, &lets)?;
            // What any account has left lies below the last that was shown of it.
            more = more.max(page.next);
            items.extend(page.items);
            items.sort_by_key(|job: &Job| std::cmp::Reverse(job.id));
            if items.len() > limit {
                items.truncate(limit);
                more = more.max(items.last().map(|job| *job.id.as_bytes()));
            }
            Ok(())
        })?;
        // Nothing above where the next page begins may be shown twice, and nothing below it yet.
        if let Some(next) = more {
            items.retain(|job| *job.id.as_bytes() >= next);
        }
        Ok(JobPage { items, next: more })
    }
}
