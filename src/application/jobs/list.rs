//! Lists of jobs, newest first, filtered.
//!
//! A page scans a bounded number of records. If few of them match, the page ends early, perhaps empty, and its cursor continues from
//! there. A search for words of the prompt first asks the search index which records to read.

use super::batches;
use super::filter::JobFilter;
use crate::application::blocking::blocking;
use crate::application::core::Core;
use crate::application::error::{Error, object_store_fault};
use crate::application::paging::Window;
use crate::application::services::JobService;
use crate::request_text;
use futures_util::future::try_join_all;
use std::cell::RefCell;
use std::sync::Arc;
use tintype_storage::domain::batch::Batch;
use tintype_storage::domain::ids::{AccountId, JobId, moment_of};
use tintype_storage::domain::job::{Job, PromptRef};
use tintype_storage::domain::search_block::MAX_JOBS;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::{JobRange, JobWindow, Page, SearchStep, StoreError, StoredJob};
use tokio::runtime::Handle;
use tokio::task::yield_now;
use uuid::Uuid;

/// Records of one account read at a time through a filter.
const STEP: usize = 200;
/// Records of one account that one page scans.
const MAX_READ: usize = 2_000;
/// The same for a search by words, which reads only the jobs of matching index blocks.
const MAX_SEARCHED: usize = 10_000;
/// Records that a search reads at a time: one block of the index.
const SEARCH_STEP: usize = MAX_JOBS + 1;
/// Index blocks that a search checks before it yields to other tasks.
const BLOCKS_PER_STEP: usize = 256;
/// Steps of one page. Together they cover more than two million jobs.
const MAX_STEPS: usize = 40;
/// Above this number of unindexed jobs, a search reports that the index is behind. The newest jobs, which fill no block, are always unindexed.
const MANY_UNINDEXED: usize = 4 * MAX_JOBS;
/// Texts that one page fetches from the object store, which holds the metadata of large requests.
const MAX_FETCHED: usize = 50;
/// Records of all accounts that one page scans.
const MAX_READ_OF_ALL: usize = 10_000;
/// The same for a filter by metadata, which may have to be fetched from the object store.
const MAX_METADATA_OF_ALL: usize = 500;

/// A page of an account's jobs.
#[derive(Default)]
pub struct FoundJobs {
    pub jobs: Vec<StoredJob>,
    /// The last scanned id, if there may be more jobs.
    pub next: Option<JobId>,
    /// Set for a search by words while the index lacks many jobs.
    pub index_behind: Option<IndexBehind>,
    /// The number of records that were read.
    pub scanned: usize,
}

#[derive(Clone, Copy, Debug)]
pub struct IndexBehind {
    /// The index contains all jobs that were accepted up to this time; `None`: no jobs.
    pub until: Option<Timestamp>,
}

/// A page of an account's jobs.
pub async fn page_of(
    jobs: &JobService,
    account: AccountId,
    window: Window,
    filter: &JobFilter,
) -> Result<FoundJobs, Error> {
    let after = window.after.map(|id| JobId(Uuid::from_bytes(id)));
    let mut range = filter.range(&jobs.core.store).await?;
    if let Some(id) = filter.batch {
        let Some((batch, _)) = jobs.core.store.batch(account, id).await? else {
            return Ok(FoundJobs::default());
        };
        range.from = range.from.max(Some(batch.first));
        range.below = Some(below(&batch, range.below));
    }
    // The smaller of both.
    range.below = match (after, range.below) {
        (Some(after), Some(below)) => Some(after.min(below)),
        (after, below) => after.or(below),
    };
    let mut page = PageReader {
        jobs,
        account,
        filter,
        limit: window.limit,
        read: 0,
        fetched: 0,
        found: FoundJobs::default(),
    };
    match filter.is_search() {
        true => page.search(range).await?,
        false => drop(page.read(range).await?),
    }
    page.found.scanned = page.read;
    Ok(page.found)
}

struct PageReader<'a> {
    jobs: &'a JobService,
    account: AccountId,
    filter: &'a JobFilter,
    limit: usize,
    /// Scanned records.
    read: usize,
    /// Fetched texts.
    fetched: usize,
    found: FoundJobs,
}

impl PageReader<'_> {
    /// Scans the jobs of a range, newest first. Returns false once the page is full or has reached a scan limit.
    async fn read(&mut self, mut range: JobRange) -> Result<bool, Error> {
        let filter = self.filter;
        let matches_all = filter.matches_all();
        let (step, max_read) = match (matches_all, filter.is_search()) {
            (true, _) => (self.limit + 1, MAX_READ),
            (false, false) => (STEP, MAX_READ),
            (false, true) => (SEARCH_STEP, MAX_SEARCHED),
        };
        loop {
            let jobs = candidates(&self.jobs.core, self.account, filter, range, step).await?;
            let is_last = jobs.len() < step;
            for job in jobs {
                let is_full = self.found.jobs.len() == self.limit;
                if is_full || self.read == max_read || self.fetched == MAX_FETCHED {
                    self.found.next = range.below;
                    return Ok(false);
                }
                self.read += 1;
                range.below = Some(job.id);
                if matches_all || self.matches(&job.read()?).await? {
                    self.found.jobs.push(job);
                }
            }
            if is_last {
                return Ok(true);
            }
            yield_now().await;
        }
    }

    async fn matches(&mut self, job: &Job) -> Result<bool, Error> {
        if !self.filter.matches(job) {
            return Ok(false);
        }
        if self.filter.metadata.is_empty() {
            return Ok(true);
        }
        self.fetched += usize::from(matches!(job.prompt, PromptRef::Stored(_)));
        let metadata = metadata_of(self.jobs, job).await?;
        Ok(metadata.is_some_and(|text| self.filter.metadata_matches(&text)))
    }

    /// Scans the jobs of a range that may contain the words according to the search index.
    async fn search(&mut self, mut range: JobRange) -> Result<(), Error> {
        let store = &self.jobs.core.store;
        let end = store.search_index_end(self.account).await?;
        for _ in 0..MAX_STEPS {
            let step = store.next_search_step(
                self.account,
                &self.filter.words,
                end,
                range.below,
                BLOCKS_PER_STEP,
            );
            let down_to = match step.await? {
                SearchStep::Read { from: first, below } => {
                    let from = range.from.max(Some(first));
                    let goes_on = self.read(JobRange { from, below }).await?;
                    if end.is_none_or(|end| first > end) && self.read > MANY_UNINDEXED {
                        let until = end.and_then(|end| moment_of(&end.0));
                        self.found.index_behind = Some(IndexBehind { until });
                    }
                    if !goes_on {
                        return Ok(());
                    }
                    first
                }
                SearchStep::Continue { below } => below,
                SearchStep::End => return Ok(()),
            };
            if range.from.is_some_and(|from| down_to <= from) || down_to.0.is_nil() {
                return Ok(());
            }
            range.below = Some(down_to);
            yield_now().await;
        }
        self.found.next = range.below;
        Ok(())
    }
}

/// The next jobs to check against the filter, newest first.
async fn candidates(
    core: &Core,
    account: AccountId,
    filter: &JobFilter,
    range: JobRange,
    limit: usize,
) -> Result<Vec<StoredJob>, StoreError> {
    let store = &core.store;
    if !filter.is_favourite {
        return store
            .stored_jobs_of(account, filter.part(), range, limit)
            .await;
    }
    let ids = store.favourites_of(account, range, limit).await?;
    let jobs = ids.into_iter().map(|id| store.stored_job(account, id));
    let jobs = try_join_all(jobs).await?;
    Ok(jobs.into_iter().flatten().collect())
}

/// The upper bound of the ids of a batch, or `other` if it is smaller.
fn below(batch: &Batch, other: Option<JobId>) -> JobId {
    let end = batch.last.next();
    other.map_or(end, |it| it.min(end))
}

/// The metadata of a job. A lost object has none: it must not make every list fail.
async fn metadata_of(jobs: &JobService, job: &Job) -> Result<Option<String>, Error> {
    let text = request_text::resolve(&jobs.objects, &job.prompt).await;
    let text = text.map_err(|error| {
        let detail =
            "the metadata of a job could not be read; try again, or list without that filter";
        object_store_fault(error, "could not read the text of a job", detail)
    })?;
    Ok(text.and_then(|it| it.metadata))
}

/// A page of the jobs of one account or of all. Runs on the blocking pool, because a filter may scan many.
pub async fn page_of_all(
    jobs: &Arc<JobService>,
    account: Option<AccountId>,
    window: Window,
    filter: JobFilter,
) -> Result<Page<Job>, Error> {
    let (mut since, mut before) = filter.moments(&jobs.core.store).await?;
    let mut account = account;
    if let Some(id) = filter.batch {
        let Some(batch) = batches::find_in_all(&jobs.core, account, id).await? else {
            return Ok(Page::default());
        };
        account = Some(batch.account);
        since = since.max(moment_of(&batch.first.0));
        before = Some(below(&batch, before));
    }
    let max_read = match filter.metadata.is_empty() {
        true => MAX_READ_OF_ALL,
        false => MAX_METADATA_OF_ALL,
    };
    let window = JobWindow {
        after: window.after,
        part: filter.part(),
        since,
        below: before,
        ..JobWindow::first(window.limit, max_read)
    };
    let jobs = Arc::clone(jobs);
    blocking(move || read(&jobs, account, &filter, window)).await
}

/// Blocks for storage and for the object store.
fn read(
    jobs: &JobService,
    account: Option<AccountId>,
    filter: &JobFilter,
    window: JobWindow,
) -> Result<Page<Job>, Error> {
    let fault = RefCell::new(None);
    let matches = |job: &Job| {
        if !filter.matches(job) {
            return false;
        }
        if filter.metadata.is_empty() {
            return true;
        }
        let metadata = Handle::current().block_on(metadata_of(jobs, job));
        let metadata = metadata.unwrap_or_else(|error| {
            fault.replace(Some(error));
            None
        });
        metadata.is_some_and(|text| filter.metadata_matches(&text))
    };
    let page = match account {
        Some(account) => jobs
            .core
            .store
            .filtered_jobs_of(account, window, matches)
            .wait(),
        None => jobs.core.store.all_jobs(window, matches).wait(),
    };
    match fault.into_inner() {
        Some(error) => Err(error),
        None => Ok(page?),
    }
}
