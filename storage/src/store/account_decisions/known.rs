//! What a round decides on: the records that were read for it. It reads nothing else.

use crate::engine::{Ask, Key, Seen, Value};
use crate::store::StoreError;
use std::borrow::Cow;

/// The pairs of a scan.
pub type Pairs<'a> = Cow<'a, [(Key, Value)]>;

/// The records that were read for a decision.
pub trait Known {
    /// The value of a key; `None` where it was not asked for.
    fn value(&self, key: &[u8]) -> Option<Result<Option<Cow<'_, [u8]>>, StoreError>>;

    /// The pairs of a scan; `None` where it was not asked for.
    fn pairs(&self, scan: &Ask) -> Option<Result<Pairs<'_>, StoreError>>;
}

impl Known for Seen {
    fn value(&self, key: &[u8]) -> Option<Result<Option<Cow<'_, [u8]>>, StoreError>> {
        Some(Ok(self.value(key)?.map(|it| Cow::Borrowed(it.as_slice()))))
    }

    fn pairs(&self, scan: &Ask) -> Option<Result<Pairs<'_>, StoreError>> {
        Some(Ok(Cow::Borrowed(self.pairs(scan)?)))
    }
}
