//! A job's place in its batch.

use super::ids::BatchId;
use serde::{Deserialize, Serialize};

/// A job's place in its batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchMember {
    pub batch: BatchId,
    /// The position of its request, from 0.
    pub index: u32,
    /// The caller's name for the request; `None` where it is the index.
    pub custom_id: Option<String>,
    /// The input images, which are fetched when the job's turn has come.
    pub input_urls: InputUrls,
}

/// URLs of input images that are yet to be fetched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum InputUrls {
    /// In the record itself.
    Inline(Vec<String>),
    /// Too large for a record: in the object store under this key, as a JSON array.
    Stored(String),
}

impl BatchMember {
    /// The caller's name for the request, or its position as text.
    pub fn custom_id(&self) -> String {
        match &self.custom_id {
            Some(custom_id) => custom_id.clone(),
            None => self.index.to_string(),
        }
    }
}

impl InputUrls {
    /// Does the request have none?
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Inline(urls) if urls.is_empty())
    }
}
