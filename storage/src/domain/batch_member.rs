//! A job's membership in a batch.

use super::ids::BatchId;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchMember<S = String> {
    pub batch: BatchId,
    /// The request's index in the batch, from 0.
    pub index: u32,
    /// The caller's name for the request; `None` if it equals the index.
    pub custom_id: Option<S>,
    /// The job's run fetches these input images.
    pub input_urls: InputUrls<S>,
}

/// URLs of input images that are not fetched yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum InputUrls<S = String> {
    Inline(Vec<S>),
    /// Too large for a record: the object store holds a JSON array under this key.
    Stored(S),
}

impl<S: AsRef<str>> BatchMember<S> {
    /// The caller's name for the request, or else its index.
    pub fn custom_id(&self) -> String {
        match &self.custom_id {
            Some(custom_id) => custom_id.as_ref().to_owned(),
            None => self.index.to_string(),
        }
    }
}

impl<S> InputUrls<S> {
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Inline(urls) if urls.is_empty())
    }
}
