//! The time of the last export. Each backup of a running service exports all records.

use super::tables::LAST_EXPORT;
use super::{Store, StoreError, Writes};
use crate::domain::time::Timestamp;

impl Store {
    /// The last completed export.
    pub async fn last_export(&self) -> Result<Option<Timestamp>, StoreError> {
        LAST_EXPORT.get(self, &()).await
    }

    pub fn note_export(&self, at: Timestamp) -> Writes {
        vec![LAST_EXPORT.put(&(), &at)]
    }
}
