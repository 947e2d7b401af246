//! Lists of jobs, newest first: of one account or of all accounts.

use super::{JobRange, Page, Part, Store, StoreError};
use crate::domain::delivery::DeliveryId;
use crate::domain::ids::{AccountId, JobId};
use crate::domain::job::Job;
use crate::domain::time::Timestamp;
use std::collections::{BinaryHeap, VecDeque};
use uuid::Uuid;

/// Accounts, or jobs of one account, per read.
const STEP: usize = 200;

/// The requested part of a list of jobs.
#[derive(Clone, Copy, Debug)]
pub struct JobWindow {
    pub limit: usize,
    /// The last id of the previous page.
    pub after: Option<[u8; 16]>,
    pub part: Part,
    /// Inclusive. Older jobs are not read.
    pub since: Option<Timestamp>,
    /// Exclusive. Newer jobs are not read.
    pub below: Option<JobId>,
    /// Maximum number of jobs to examine, over all accounts.
    pub max_scanned: usize,
}

impl JobWindow {
    /// The first page of a list of all jobs.
    pub fn first(limit: usize, max_scanned: usize) -> Self {
        Self {
            limit,
            after: None,
            part: Part::All,
            since: None,
            below: None,
            max_scanned,
        }
    }
}

/// One account's jobs, newest first, read in small steps.
struct AccountCursor {
    account: AccountId,
    read: VecDeque<Job>,
    below: Option<JobId>,
    /// The size of the next read. It starts at 1, because a page shows no job of most accounts.
    step: usize,
    ended: bool,
}

impl AccountCursor {
    async fn newest(
        &mut self,
        store: &Store,
        window: &JobWindow,
    ) -> Result<Option<JobId>, StoreError> {
        if self.read.is_empty() && !self.ended {
            let range = JobRange {
                from: window.since.map(JobId::first_of),
                below: self.below,
            };
            let jobs = store
                .jobs_of(self.account, window.part, range, self.step)
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
    /// The jobs of an account that satisfy `matches`, newest first.
    pub async fn filtered_jobs_of(
        &self,
        account: AccountId,
        window: JobWindow,
        matches: impl Fn(&Job) -> bool,
    ) -> Result<Page<Job>, StoreError> {
        self.filtered_jobs(vec![account], window, matches).await
    }

    /// Like [`Store::filtered_jobs_of`], over all accounts.
    pub async fn all_jobs(
        &self,
        window: JobWindow,
        matches: impl Fn(&Job) -> bool,
    ) -> Result<Page<Job>, StoreError> {
        let mut accounts = Vec::new();
        self.each_account(|account| {
            accounts.push(account.id);
            Ok(())
        })
        .await?;
        self.filtered_jobs(accounts, window, matches).await
    }

    /// Merges the accounts' sorted lists: the newest job overall is always at the head of one of them.
    async fn filtered_jobs(
        &self,
        accounts: Vec<AccountId>,
        window: JobWindow,
        matches: impl Fn(&Job) -> bool,
    ) -> Result<Page<Job>, StoreError> {
        let after = window.after.map(|id| JobId(Uuid::from_bytes(id)));
        let below = match (after, window.below) {
            (Some(after), Some(below)) => Some(after.min(below)),
            (after, below) => after.or(below),
        };
        let cursor = |account| AccountCursor {
            account,
            read: VecDeque::new(),
            below,
            step: 1,
            ended: false,
        };
        let mut cursors: Vec<AccountCursor> = accounts.into_iter().map(cursor).collect();
        let mut heads = BinaryHeap::new();
        for (at, cursor) in cursors.iter_mut().enumerate() {
            heads.extend(cursor.newest(self, &window).await?.map(|id| (id, at)));
        }
        let (mut page, mut last, mut scanned) = (Page::default(), None, 0);
        while let Some((id, at)) = heads.pop() {
            if page.items.len() == window.limit || scanned == window.max_scanned.max(1) {
                page.next = last;
                break;
            }
            scanned += 1;
            last = Some(*id.as_bytes());
            let cursor = &mut cursors[at];
            page.items.extend(cursor.read.pop_front().filter(&matches));
            heads.extend(cursor.newest(self, &window).await?.map(|id| (id, at)));
        }
        Ok(page)
    }

    /// A job of any account.
    ///
    /// A job with a delivery is found through the delivery, which has the same id. Otherwise the search tries each account,
    /// some microseconds each: an index of all jobs would make every acceptance more expensive for a rare question of the
    /// operator.
    pub async fn find_job(&self, id: JobId) -> Result<Option<Job>, StoreError> {
        if let Some(delivery) = self.delivery(DeliveryId(id.0)).await?
            && let Some(job) = self.job(delivery.account, id).await?
        {
            return Ok(Some(job));
        }
        self.find_in_accounts(id.0, async |account| self.job(account, id).await)
            .await
    }

    /// Searches for a record of any account by its id. Ids and the list of accounts rise: no later account can have the record.
    pub(super) async fn find_in_accounts<R>(
        &self,
        id: Uuid,
        find: impl AsyncFn(AccountId) -> Result<Option<R>, StoreError>,
    ) -> Result<Option<R>, StoreError> {
        let mut after = None;
        loop {
            let page = self.accounts(STEP, after).await?;
            for account in page.items.iter().map(|it| it.id) {
                if account.0 > id {
                    return Ok(None);
                }
                if let Some(found) = find(account).await? {
                    return Ok(Some(found));
                }
            }
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(None),
            }
        }
    }
}
