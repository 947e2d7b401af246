//! Lists of jobs, newest first, filtered.
//!
//! A page looks at a bounded number of records, however few of them a filter lets through: then it ends early, perhaps empty,
//! with a cursor that goes on. A search for words of the prompt asks the search index first which records to look at.

use super::batches;
use super::error::{self, Error, ErrorKind};
use super::list::{SET_BACK, Window};
use super::state::AppState;
use crate::images::FAULT_TARGET;
use crate::request_text::{self, RequestTextError};
use futures_util::future::try_join_all;
use std::cell::RefCell;
use std::sync::Arc;
use tintype_storage::domain::batch::Batch;
use tintype_storage::domain::ids::{AccountId, BatchId, JobId, KeyId, moment_of};
use tintype_storage::domain::job::{Job, PromptRef};
use tintype_storage::domain::json::Json;
use tintype_storage::domain::request::MAX_METADATA_DEPTH;
use tintype_storage::domain::search_block::MAX_JOBS;
use tintype_storage::domain::tier::{Mode, Tier};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::{JobPage, JobWindow, Part, SearchStep, StoreError};
use tokio::runtime::Handle;
use tokio::task::{spawn_blocking, yield_now};
use uuid::Uuid;

/// Records of one account that are read at a time when not all of them are wanted.
const STEP: usize = 200;
/// Records of one account that one page looks at.
const MOST_READ: usize = 2_000;
/// The same of a search by words: these are the jobs of blocks of the index that have the words.
const MOST_SEARCHED: usize = 10_000;
/// Records of one account that a search reads at a time: a block of the index.
const SEARCH_STEP: usize = MAX_JOBS + 1;
/// Blocks of the index that a search looks at before others have their turn.
const BLOCKS_OF_STEP: usize = 256;
/// Such steps of one page. Together they go through more than two million jobs.
const MOST_STEPS: usize = 40;
/// A search tells of so many jobs that the index lacks. Some are always missing: the newest, which fill no block.
const MANY_UNINDEXED: usize = 4 * MAX_JOBS;
/// Metadata that one page fetches from the object store: large requests keep it there.
const MOST_FETCHED: usize = 50;
/// Records of all accounts that one page looks at.
const MOST_READ_IN_ALL: usize = 10_000;
/// The same where their metadata counts, some of which has to be fetched from the object store.
const MOST_METADATA_IN_ALL: usize = 500;

/// What a job of a list must be like. `None` for no matter.
#[derive(Default)]
pub struct JobFilter {
    /// The word of its state.
    pub status: Option<&'static str>,
    pub tier: Option<Tier>,
    pub mode: Option<Mode>,
    pub key: Option<KeyId>,
    pub batch: Option<BatchId>,
    /// This moment or later.
    pub created_after: Option<Timestamp>,
    /// Before this moment.
    pub created_before: Option<Timestamp>,
    /// Members that the metadata must have, as text.
    pub metadata: Vec<(String, String)>,
    /// Words, in lower case, that a prompt must hold. One that is too large for its record is not searched.
    pub words: Vec<String>,
    /// Only favourites of the account.
    pub is_favourite: bool,
}

impl JobFilter {
    /// Does it let every job of its range through?
    fn is_open(&self) -> bool {
        let of_key = self.key.is_none() && self.batch.is_none();
        let of_record = self.tier.is_none() && self.mode.is_none() && of_key;
        let of_time = self.created_after.is_none() && self.created_before.is_none();
        self.status.is_none()
            && of_record
            && of_time
            && self.metadata.is_empty()
            && self.words.is_empty()
            && !self.is_favourite
    }

    /// Is it asked by the search index? Favourites are few.
    fn is_search(&self) -> bool {
        !self.words.is_empty() && !self.is_favourite
    }

    /// Where such jobs lie.
    fn part(&self) -> Part {
        match self.status {
            Some("queued" | "processing") => Part::Live,
            Some(_) => Part::Ended,
            None => Part::All,
        }
    }

    /// The ids that such jobs can have: from the first on, below the second.
    fn range(&self) -> (Option<JobId>, Option<JobId>) {
        let (since, below) = self.moments();
        (since.map(JobId::first_of), below)
    }

    /// The same with the moment that the first of them would tell.
    fn moments(&self) -> (Option<Timestamp>, Option<JobId>) {
        let before = self.created_before.map(|moment| moment.plus(SET_BACK));
        (self.created_after, before.map(JobId::first_of))
    }

    /// Is this one of them, as far as its record tells?
    fn takes(&self, job: &Job) -> bool {
        let is = |wanted: Option<bool>| wanted.unwrap_or(true);
        is(self.status.map(|it| it == job.state.word()))
            && is(self.tier.map(|it| it == job.tier))
            && is(self.mode.map(|it| it == job.mode))
            && is(self.key.map(|it| it == job.key))
            && is(self
                .batch
                .map(|it| job.member().is_some_and(|member| member.batch == it)))
            && is(self.created_after.map(|it| job.created_at >= it))
            && is(self.created_before.map(|it| job.created_at < it))
            && self.takes_prompt(&job.prompt)
    }

    fn takes_prompt(&self, text: &PromptRef) -> bool {
        if self.words.is_empty() {
            return true;
        }
        let PromptRef::Inline(text) = text else {
            return false;
        };
        let prompt = text.prompt.to_lowercase();
        self.words.iter().all(|word| prompt.contains(word))
    }

    /// Has the metadata of a job all members that are asked for? A string is compared as it is, a number or a word of JSON by
    /// its text; an array or an object equals nothing.
    fn takes_metadata(&self, text: &str) -> bool {
        let Ok(Json::Object(members)) = Json::parse(text, MAX_METADATA_DEPTH) else {
            return false;
        };
        self.metadata.iter().all(|(name, wanted)| {
            let member = members.iter().find(|(it, _)| it == name);
            member.is_some_and(|(_, value)| match value {
                Json::String(text) | Json::Number(text) => text == wanted,
                Json::Bool(value) => value.to_string() == *wanted,
                Json::Null => wanted == "null",
                Json::Array(_) | Json::Object(_) => false,
            })
        })
    }
}

/// A page of an account's jobs.
#[derive(Default)]
pub struct FoundJobs {
    pub jobs: Vec<Job>,
    /// The last id that was looked at, if there may be more.
    pub next: Option<JobId>,
    /// Of a search for words while the index lacks many jobs, which are read one by one.
    pub index_behind: Option<IndexBehind>,
}

/// How far the search index of an account has got.
#[derive(Clone, Copy, Debug)]
pub struct IndexBehind {
    /// It has all jobs that were accepted up to this moment; `None`: it has none.
    pub until: Option<Timestamp>,
}

/// A page of an account's jobs.
///
/// # Errors
/// The store or the object store fails.
pub async fn page_of(
    state: &AppState,
    account: AccountId,
    window: Window,
    filter: &JobFilter,
) -> Result<FoundJobs, Error> {
    let after = window.after.map(|id| JobId(Uuid::from_bytes(id)));
    let (mut from, mut before) = filter.range();
    if let Some(id) = filter.batch {
        let Some((batch, _)) = state.store.batch(account, id).await? else {
            return Ok(FoundJobs::default());
        };
        from = from.max(Some(batch.first));
        before = Some(below(&batch, before));
    }
    // The smaller one, where both are there.
    let below = match (after, before) {
        (Some(after), Some(before)) => Some(after.min(before)),
        (after, before) => after.or(before),
    };
    let mut page = PageReader {
        state,
        account,
        filter,
        limit: window.limit,
        read: 0,
        fetched: 0,
        found: FoundJobs::default(),
    };
    match filter.is_search() {
        true => page.search(below, from).await?,
        false => drop(page.read(below, from).await?),
    }
    Ok(page.found)
}

/// Reads the jobs of a page.
struct PageReader<'a> {
    state: &'a AppState,
    account: AccountId,
    filter: &'a JobFilter,
    limit: usize,
    /// Records that were looked at.
    read: usize,
    /// Metadata that was fetched.
    fetched: usize,
    found: FoundJobs,
}

impl PageReader<'_> {
    /// Looks at the jobs between two ids, newest first. False once the page is full or has looked at enough.
    async fn read(&mut self, mut below: Option<JobId>, from: Option<JobId>) -> Result<bool, Error> {
        let filter = self.filter;
        let (step, most) = match (filter.is_open(), filter.is_search()) {
            (true, _) => (self.limit + 1, MOST_READ),
            (false, false) => (STEP, MOST_READ),
            (false, true) => (SEARCH_STEP, MOST_SEARCHED),
        };
        loop {
            let jobs = candidates(self.state, self.account, filter, below, from, step).await?;
            let is_last = jobs.len() < step;
            for job in jobs {
                let is_full = self.found.jobs.len() == self.limit;
                if is_full || self.read == most || self.fetched == MOST_FETCHED {
                    self.found.next = below;
                    return Ok(false);
                }
                self.read += 1;
                below = Some(job.id);
                if filter.takes(&job)
                    && has_metadata(self.state, filter, &job, &mut self.fetched).await?
                {
                    self.found.jobs.push(job);
                }
            }
            if is_last {
                return Ok(true);
            }
            // Others have their turn on this thread.
            yield_now().await;
        }
    }

    /// Looks at those jobs between two ids that may have the words of the filter, by the search index.
    async fn search(&mut self, mut below: Option<JobId>, from: Option<JobId>) -> Result<(), Error> {
        let store = &self.state.store;
        let end = store.search_index_end(self.account).await?;
        for _ in 0..MOST_STEPS {
            let step = store.next_search_step(
                self.account,
                &self.filter.words,
                end,
                below,
                BLOCKS_OF_STEP,
            );
            let down_to = match step.await? {
                SearchStep::Read { from: first, below } => {
                    let goes_on = self.read(below, from.max(Some(first))).await?;
                    if end.is_none_or(|end| first > end) && self.read > MANY_UNINDEXED {
                        let until = end.and_then(|end| moment_of(&end.0));
                        self.found.index_behind = Some(IndexBehind { until });
                    }
                    if !goes_on {
                        return Ok(());
                    }
                    first
                }
                SearchStep::GoOn { below } => below,
                SearchStep::End => return Ok(()),
            };
            if from.is_some_and(|from| down_to <= from) || down_to.0.is_nil() {
                return Ok(());
            }
            below = Some(down_to);
            // Others have their turn on this thread.
            yield_now().await;
        }
        self.found.next = below;
        Ok(())
    }
}

/// The next jobs of an account that a filter is asked about, newest first.
async fn candidates(
    state: &AppState,
    account: AccountId,
    filter: &JobFilter,
    below: Option<JobId>,
    from: Option<JobId>,
    limit: usize,
) -> Result<Vec<Job>, StoreError> {
    let store = &state.store;
    if !filter.is_favourite {
        return store
            .jobs_of(account, filter.part(), below, from, limit)
            .await;
    }
    let ids = store.favourites_of(account, below, from, limit).await?;
    let jobs = try_join_all(ids.into_iter().map(|id| store.job(account, id))).await?;
    Ok(jobs.into_iter().flatten().collect())
}

/// The id below which the jobs of a batch lie, and below `other`.
fn below(batch: &Batch, other: Option<JobId>) -> JobId {
    let end = batch.last.next();
    other.map_or(end, |it| it.min(end))
}

async fn has_metadata(
    state: &AppState,
    filter: &JobFilter,
    job: &Job,
    fetched: &mut usize,
) -> Result<bool, Error> {
    if filter.metadata.is_empty() {
        return Ok(true);
    }
    *fetched += usize::from(matches!(job.prompt, PromptRef::Stored(_)));
    let metadata = metadata_of(state, job).await?;
    Ok(metadata.is_some_and(|text| filter.takes_metadata(&text)))
}

/// The metadata of a job, from its record or from the object store.
async fn metadata_of(state: &AppState, job: &Job) -> Result<Option<String>, Error> {
    match &job.prompt {
        PromptRef::Inline(words) => Ok(words.metadata.clone()),
        PromptRef::Stored(key) => {
            match request_text::load(&state.images, key).await {
                Ok(words) => Ok(words.metadata),
                // One object that was lost must not end every list that comes past it.
                Err(error) if error.is_gone() => Ok(None),
                Err(error) => Err(unreadable(error)),
            }
        }
    }
}

fn unreadable(error: RequestTextError) -> Error {
    tracing::error!(target: FAULT_TARGET, %error, "the text of a job could not be read");
    let detail = "the metadata of a job could not be read; try again, or list without that filter";
    Error::new(ErrorKind::StorageUnavailable, detail)
}

/// A page of the jobs of all accounts, or of one, read on the blocking pool: a filter may look at many.
///
/// # Errors
/// The store or the object store fails.
pub async fn page_of_all(
    state: &Arc<AppState>,
    account: Option<AccountId>,
    window: Window,
    filter: JobFilter,
) -> Result<JobPage, Error> {
    let (mut account, (mut since, mut before)) = (account, filter.moments());
    if let Some(id) = filter.batch {
        let Some(batch) = batches::find_in_all(state, account, id).await? else {
            return Ok(JobPage::default());
        };
        account = Some(batch.account);
        since = since.max(moment_of(&batch.first.0));
        before = Some(below(&batch, before));
    }
    let most = match filter.metadata.is_empty() {
        true => MOST_READ_IN_ALL,
        false => MOST_METADATA_IN_ALL,
    };
    let window = JobWindow {
        after: window.after,
        part: filter.part(),
        since,
        below: before,
        ..JobWindow::first(window.limit, most)
    };
    let state = Arc::clone(state);
    let page = spawn_blocking(move || read(&state, account, &filter, window)).await;
    page.map_err(|_| error::busy())?
}

/// Blocks, also for what it fetches.
fn read(
    state: &AppState,
    account: Option<AccountId>,
    filter: &JobFilter,
    window: JobWindow,
) -> Result<JobPage, Error> {
    let fault = RefCell::new(None);
    let lets = |job: &Job| {
        if !filter.takes(job) || filter.metadata.is_empty() {
            return filter.takes(job);
        }
        let metadata = Handle::current().block_on(metadata_of(state, job));
        let metadata = metadata.unwrap_or_else(|error| {
            fault.replace(Some(error));
            None
        });
        metadata.is_some_and(|text| filter.takes_metadata(&text))
    };
    let page = match account {
        Some(account) => state.store.filtered_jobs_of(account, window, lets).wait(),
        None => state.store.all_jobs(window, lets).wait(),
    };
    match fault.into_inner() {
        Some(error) => Err(error),
        None => Ok(page?),
    }
}
