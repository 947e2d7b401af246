//! Lists of jobs, newest first: one account's, or every account's.

use super::{Part, Store, StoreError};
use crate::domain::delivery::DeliveryId;
use crate::domain::ids::{AccountId, JobId};
use crate::domain::job::Job;
use crate::domain::time::Timestamp;
use std::collections::{BinaryHeap, VecDeque};
use uuid::Uuid;

/// Accounts, or jobs of one account, that are read from the engine at a time.
const STEP: usize = 200;

/// A part of a list of jobs.
#[derive(Clone, Debug, Default)]
pub struct JobPage {
    pub items: Vec<Job>,
    /// After which the next page begins; `None` at the end.
    pub next: Option<[u8; 16]>,
}

/// Which part of a list of jobs is wanted.
#[derive(Clone, Copy, Debug)]
pub struct JobWindow {
    pub limit: usize,
    /// The last id of the part before.
    pub after: Option<[u8; 16]>,
    /// Only those that lie there.
    pub part: Part,
    /// None that were accepted before this moment; older ones are not even read.
    pub since: Option<Timestamp>,
    /// None from this id on; newer ones are not even read.
    pub below: Option<JobId>,
    /// Jobs that are looked at, at the most, over all accounts.
    pub most: usize,
}

impl JobWindow {
    /// The first of a list of all jobs.
    pub fn first(limit: usize, most: usize) -> Self {
        Self {
            limit,
            after: None,
            part: Part::All,
            since: None,
            below: None,
            most,
        }
    }
}

/// One account's jobs, newest first, read a few at a time.
struct Lane {
    account: AccountId,
    read: VecDeque<Job>,
    below: Option<JobId>,
    /// Jobs to be read at the next time. Of most accounts a page shows none, so it begins with one.
    step: usize,
    ended: bool,
}

impl Lane {
    async fn newest(
        &mut self,
        store: &Store,
        window: &JobWindow,
    ) -> Result<Option<JobId>, StoreError> {
        if self.read.is_empty() && !self.ended {
            let from = window.since.map(JobId::first_of);
            let jobs = store
                .jobs_of(self.account, window.part, self.below, from, self.step)
                .await?;
            self.ended = jobs.len() < self.step;
            self.step = (self.step * 4).min(STEP);
            self.below = jobs.last().map(|job| job.id).or(self.below);
            self.read = jobs.into();
        }
        Ok(self.read.front().map(|job| job.id))
    }
}

impl Store {
    /// Jobs of an account that `lets` accepts, newest first.
    pub async fn sifted_jobs_of(
        &self,
        account: AccountId,
        window: JobWindow,
        lets: impl Fn(&Job) -> bool,
    ) -> Result<JobPage, StoreError> {
        self.sifted_jobs(vec![account], window, lets).await
    }

    /// As [`Store::sifted_jobs_of`], over all accounts.
    pub async fn all_jobs(
        &self,
        window: JobWindow,
        lets: impl Fn(&Job) -> bool,
    ) -> Result<JobPage, StoreError> {
        let mut accounts = Vec::new();
        self.each_account(|account| {
            accounts.push(account.id);
            Ok(())
        })
        .await?;
        self.sifted_jobs(accounts, window, lets).await
    }

    /// Each account's jobs lie in order; the newest of all is always that of one of the heads.
    async fn sifted_jobs(
        &self,
        accounts: Vec<AccountId>,
        window: JobWindow,
        lets: impl Fn(&Job) -> bool,
    ) -> Result<JobPage, StoreError> {
        let after = window.after.map(|id| JobId(Uuid::from_bytes(id)));
        let below = match (after, window.below) {
            (Some(after), Some(below)) => Some(after.min(below)),
            (after, below) => after.or(below),
        };
        let lane = |account| Lane {
            account,
            read: VecDeque::new(),
            below,
            step: 1,
            ended: false,
        };
        let mut lanes: Vec<Lane> = accounts.into_iter().map(lane).collect();
        let mut heads = BinaryHeap::new();
        for (at, lane) in lanes.iter_mut().enumerate() {
            heads.extend(lane.newest(self, &window).await?.map(|id| (id, at)));
        }
        let (mut page, mut last, mut looked_at) = (JobPage::default(), None, 0);
        while let Some((id, at)) = heads.pop() {
            if page.items.len() == window.limit || looked_at == window.most.max(1) {
                page.next = last;
                break;
            }
            looked_at += 1;
            last = Some(*id.as_bytes());
            let lane = &mut lanes[at];
            page.items.extend(lane.read.pop_front().filter(&lets));
            heads.extend(lane.newest(self, &window).await?.map(|id| (id, at)));
        }
        Ok(page)
    }

    /// A job of any account.
    ///
    /// A job with a delivery is found at once, by the delivery, which has the same id. Any other one is looked for in each account,
    /// some microseconds each: an index of all jobs would make every acceptance dearer for a question that only an operator asks.
    pub async fn find_job(&self, id: JobId) -> Result<Option<Job>, StoreError> {
        if let Some(delivery) = self.delivery(DeliveryId(id.0)).await?
            && let Some(job) = self.job(delivery.account, id).await?
        {
            return Ok(Some(job));
        }
        let mut after = None;
        loop {
            let page = self.accounts(STEP, after).await?;
            for account in &page.items {
                // Ids only ever rise, and accounts are listed as they do: no later one can have had this job.
                if account.id.0 > id.0 {
                    return Ok(None);
                }
                if let Some(job) = self.job(account.id, id).await? {
                    return Ok(Some(job));
                }
            }
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(None),
            }
        }
    }
}
