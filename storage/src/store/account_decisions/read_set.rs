//! The read set of a round: the records that were read for it. Decisions read nothing else.

use crate::engine::{Key, ReadRequest, ReadResults, Value};
use crate::store::StoreError;
use std::borrow::Cow;

/// The pairs of a scan.
pub type Pairs<'a> = Cow<'a, [(Key, Value)]>;

pub trait ReadSet {
    /// `None` if the key was not requested.
    fn value(&self, key: &[u8]) -> Option<Result<Option<Cow<'_, [u8]>>, StoreError>>;

    /// `None` if the scan was not requested.
    fn pairs(&self, scan: &ReadRequest) -> Option<Result<Pairs<'_>, StoreError>>;
}

impl ReadSet for ReadResults {
    fn value(&self, key: &[u8]) -> Option<Result<Option<Cow<'_, [u8]>>, StoreError>> {
        Some(Ok(self.value(key)?.map(|it| Cow::Borrowed(it.as_slice()))))
    }

    fn pairs(&self, scan: &ReadRequest) -> Option<Result<Pairs<'_>, StoreError>> {
        Some(Ok(Cow::Borrowed(self.pairs(scan)?)))
    }
}
