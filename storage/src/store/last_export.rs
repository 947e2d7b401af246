//! When all records were last exported, as each backup of a running service does.

use super::tables::LAST_EXPORT;
use super::{Store, StoreError, Writes};
use crate::domain::time::Timestamp;

impl Store {
    /// The moment of the last export that was written to its end.
    pub async fn last_export(&self) -> Result<Option<Timestamp>, StoreError> {
        LAST_EXPORT.get(self, &()).await
    }

    /// The writes that note an export that has been written.
    pub fn note_export(&self, at: Timestamp) -> Writes {
        vec![LAST_EXPORT.put(&(), &at)]
    }
}
