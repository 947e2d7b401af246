//! The list of the files of an account: uploads and results of batches, ordered by the time of upload or submission.

use super::file_object::{self, BATCH, BATCH_OUTPUT};
use super::{File, Refusal};
use crate::application::file_batches::{self, ResultsKind};
use crate::compat::openai::list_query::{self, ListQuery};
use crate::compat::openai::object_ids::{WireFileId, no_such_file};
use crate::compat::state::CompatState;
use actix_web::HttpRequest;
use serde_json::Value;
use tintype_storage::domain::ids::AccountId;
use tintype_storage::engine::Direction;
use tintype_storage::store::tables::{FILE_BATCHES, UPLOADED_FILES};

/// Also the default.
const MAX_LIMIT: usize = 10_000;
/// Records read at a time.
const STEP: usize = 200;

/// # Errors
/// A parameter is invalid, or the store fails.
pub async fn page(
    request: &HttpRequest,
    state: &CompatState,
    account: AccountId,
) -> Result<Value, Refusal> {
    let query = ListQuery::of(request);
    let limit = query.limit(MAX_LIMIT, MAX_LIMIT)?;
    let direction = match query.get("order") {
        None | Some("desc") => Direction::Falling,
        Some("asc") => Direction::Rising,
        Some(_) => return Err(Refusal::field("order", "must be `asc` or `desc`")),
    };
    let after = match query.get("after") {
        None => None,
        Some(id) => Some(WireFileId::parse(id).ok_or_else(|| no_such_file(id, "after"))?),
    };
    let list = List {
        state,
        account,
        direction,
        after,
        max_files: limit + 1,
    };
    let mut files = match query.get("purpose") {
        None => list.merge(list.read_uploads().await?, list.results().await?),
        Some(BATCH) => list.read_uploads().await?,
        Some(BATCH_OUTPUT) => list.results().await?,
        Some(_) => Vec::new(),
    };
    let has_more = files.len() > limit;
    files.truncate(limit);
    let data = files.iter().map(file_object::json).collect();
    Ok(list_query::page(data, has_more))
}

struct List<'a> {
    state: &'a CompatState,
    account: AccountId,
    direction: Direction,
    /// The last file of the previous page.
    after: Option<WireFileId>,
    /// Maximum number of files to read.
    max_files: usize,
}

impl List<'_> {
    async fn read_uploads(&self) -> Result<Vec<File>, Refusal> {
        let mut after = self.after.map(|name| name.as_bytes());
        let mut files = Vec::new();
        let now = self.state.core.now();
        loop {
            let (store, order) = (&self.state.core.store, self.direction);
            let page = UPLOADED_FILES.page_in(store, &self.account, order, STEP, after);
            let page = page.await?;
            let there = page.items.into_iter().filter(|file| !file.is_expired(now));
            files.extend(there.map(File::Uploaded));
            after = page.next;
            if after.is_none() || files.len() >= self.max_files {
                return Ok(files);
            }
        }
    }

    /// For each batch the output file, then the error file.
    async fn results(&self) -> Result<Vec<File>, Refusal> {
        let mut after = self.after.map(|name| name.as_bytes());
        let mut files = Vec::new();
        if let Some(WireFileId::Results(ResultsKind::Output, batch)) = self.after
            && let Some(batch) = file_batches::find(&self.state.core, self.account, batch).await?
        {
            let errors =
                batch.results_of(ResultsKind::Errors, &self.state.core, &self.state.settings);
            files.extend(errors.map(File::Results));
        }
        loop {
            let (store, order) = (&self.state.core.store, self.direction);
            let page = FILE_BATCHES.page_in(store, &self.account, order, STEP, after);
            let page = page.await?;
            for batch in page.items {
                let batch = file_batches::status(&self.state.core, batch).await?;
                files.extend(
                    batch
                        .results(&self.state.core, &self.state.settings)
                        .map(File::Results),
                );
            }
            after = page.next;
            if after.is_none() || files.len() >= self.max_files {
                return Ok(files);
            }
        }
    }

    /// Merges both lists by id. The sort is stable, so the two files of a batch, which have the same sort key, keep their order.
    fn merge(&self, uploaded: Vec<File>, results: Vec<File>) -> Vec<File> {
        let mut files = uploaded;
        files.extend(results);
        files.sort_by(|one, other| {
            let [one, other] = [one, other].map(|it| file_object::name(it).as_bytes());
            match self.direction {
                Direction::Rising => one.cmp(&other),
                Direction::Falling => other.cmp(&one),
            }
        });
        files
    }
}
