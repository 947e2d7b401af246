//! Which jobs a list contains.

use crate::application::paging::end_of_ids;
use tintype_storage::domain::ids::{BatchId, JobId, KeyId};
use tintype_storage::domain::job::{Job, JobStatus, PromptRef};
use tintype_storage::domain::request::MAX_METADATA_DEPTH;
use tintype_storage::domain::tier::{Mode, Tier};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::json::Json;
use tintype_storage::store::tables::IDS_AHEAD;
use tintype_storage::store::{JobRange, Part, Store, StoreError};

/// `None` matches every job.
#[derive(Default, PartialEq)]
pub struct JobFilter {
    pub status: Option<JobStatus>,
    pub tier: Option<Tier>,
    pub mode: Option<Mode>,
    pub key: Option<KeyId>,
    pub batch: Option<BatchId>,
    /// Inclusive.
    pub created_after: Option<Timestamp>,
    /// Exclusive.
    pub created_before: Option<Timestamp>,
    /// Members that the metadata must contain, with their values as text.
    pub metadata: Vec<(String, String)>,
    /// Lowercase words that the prompt must contain. A prompt that is too large for its record never matches.
    pub words: Vec<String>,
    /// Only favourites of the account.
    pub is_favourite: bool,
}

impl JobFilter {
    pub(super) fn matches_all(&self) -> bool {
        *self == Self::default()
    }

    /// Does it use the search index? Favourites do not: there are few.
    pub(super) fn is_search(&self) -> bool {
        !self.words.is_empty() && !self.is_favourite
    }

    pub(super) fn part(&self) -> Part {
        match self.status {
            Some(JobStatus::Queued | JobStatus::Processing) => Part::Live,
            Some(JobStatus::Done | JobStatus::Failed) => Part::Ended,
            None => Part::All,
        }
    }

    /// The range of ids of matching jobs.
    pub(super) async fn range(&self, store: &Store) -> Result<JobRange, StoreError> {
        let (since, below) = self.moments(store).await?;
        let from = since.map(JobId::first_of);
        Ok(JobRange { from, below })
    }

    /// The same as the time of the first id, and the first id after the last one.
    pub(super) async fn moments(
        &self,
        store: &Store,
    ) -> Result<(Option<Timestamp>, Option<JobId>), StoreError> {
        let below = match self.created_before {
            Some(before) => {
                let ahead = IDS_AHEAD.mark(store).await?;
                Some(JobId(end_of_ids(before, ahead)))
            }
            None => None,
        };
        Ok((self.created_after, below))
    }

    /// Checks everything but the metadata.
    pub(super) fn matches(&self, job: &Job) -> bool {
        let is_of_batch = |id| job.member().is_some_and(|it| it.batch == id);
        self.status.is_none_or(|it| it == job.state.status())
            && self.tier.is_none_or(|it| it == job.tier)
            && self.mode.is_none_or(|it| it == job.mode)
            && self.key.is_none_or(|it| it == job.key)
            && self.batch.is_none_or(is_of_batch)
            && self.created_after.is_none_or(|it| job.created_at >= it)
            && self.created_before.is_none_or(|it| job.created_at < it)
            && self.prompt_matches(&job.prompt)
    }

    fn prompt_matches(&self, text: &PromptRef) -> bool {
        if self.words.is_empty() {
            return true;
        }
        let PromptRef::Inline(text) = text else {
            return false;
        };
        let prompt = text.prompt.to_lowercase();
        self.words.iter().all(|word| prompt.contains(word))
    }

    /// Strings are compared as they are, numbers and JSON literals by their text. Arrays and objects never match.
    pub(super) fn metadata_matches(&self, text: &str) -> bool {
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
