//! Ids that are ahead of the clock. Ids only rise, so they stay at the latest time of a clock that was set back, until the clock
//! reaches it.

use super::tables::IDS_AHEAD;
use super::{Store, StoreError, Writes};
use crate::domain::time::Timestamp;

impl Store {
    /// Records with later ids were created at the time of their ids. Others may have been created earlier.
    pub async fn ids_ahead(&self) -> Result<Timestamp, StoreError> {
        IDS_AHEAD.mark(self).await
    }

    /// Notes that ids up to a time are ahead of the clock. No writes if that is known.
    pub async fn note_ids_ahead(&self, until: Timestamp) -> Result<Writes, StoreError> {
        IDS_AHEAD.raise(self, until).await
    }
}
