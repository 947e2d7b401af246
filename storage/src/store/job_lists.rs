//! Lists of jobs, newest first: one account's, or every account's.

use super::{Part, Store, StoreError};
use crate::domain::delivery::DeliveryId;
use crate::domain::ids::{AccountId, JobId};
use crate::domain::job::Job;
use crate::domain::time::Timestamp;
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

impl Store {
    /// Jobs of an account that `lets` lets through, newest first.
    pub fn sifted_jobs_of(
        &self,
        account: AccountId,
        window: JobWindow,
        lets: impl Fn(&Job) -> bool,
    ) -> Result<JobPage, StoreError> {
        let (mut page, mut after, mut looked_at) = (JobPage::default(), window.after, 0);
        let step = STEP.min(window.most.max(1));
        let from = window.since.map(JobId::first_of);
        loop {
            let below = after.map(|id| JobId(Uuid::from_bytes(id)));
            let jobs = self.jobs_of(account, Part::All, below, from, step)?;
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

    /// A job of whichever account.
    ///
    /// One that was told to a webhook is found at once, by its delivery, which has the same id. Any other is asked for in
    /// each account, some microseconds each: an index of all jobs would make every acceptance dearer for a question that only
    /// an operator asks. So this blocks, and is to be asked where that may be.
    pub fn find_job(&self, id: JobId) -> Result<Option<Job>, StoreError> {
        if let Some(delivery) = self.delivery(DeliveryId(id.0))?
            && let Some(job) = self.job(delivery.account, id)?
        {
            return Ok(Some(job));
        }
        let mut after = None;
        loop {
            let page = self.accounts(STEP, after)?;
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

    /// As [`Store::sifted_jobs_of`], over all accounts.
    pub fn all_jobs(
        &self,
        window: JobWindow,
        lets: impl Fn(&Job) -> bool,
    ) -> Result<JobPage, StoreError> {
        let limit = window.limit;
        let mut items = Vec::new();
        let mut more: Option<[u8; 16]> = None;
        self.each_account(|account| {
            let page = self.sifted_jobs_of(account.id, window, &lets)?;
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
