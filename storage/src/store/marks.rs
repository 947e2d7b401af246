//! Marks: times of the whole store that only rise.

use super::{Store, StoreError, Table, Writes};
use crate::domain::time::Timestamp;

impl Table<(), Timestamp> {
    /// The epoch if the mark was never set.
    pub async fn mark(&self, store: &Store) -> Result<Timestamp, StoreError> {
        let mark = self.get(store, &()).await?;
        Ok(mark.unwrap_or(Timestamp::EPOCH))
    }

    /// Raises the mark. No writes if it is that high already.
    pub async fn raise(&self, store: &Store, to: Timestamp) -> Result<Writes, StoreError> {
        let is_new = to > self.mark(store).await?;
        let write = is_new.then(|| self.put(&(), &to));
        Ok(write.into_iter().collect())
    }
}
