//! A store as a read set that reads each record on demand, for tests and benchmarks that decide outside of rounds.

use crate::engine::{ReadRequest, ReadResults};
use crate::store::{Pairs, ReadSet, Store, StoreError};
use std::borrow::Cow;

impl ReadSet for Store {
    fn value(&self, key: &[u8]) -> Option<Result<Option<Cow<'_, [u8]>>, StoreError>> {
        let value = self.engine().get(key).wait();
        Some(value.map(|it| it.map(Cow::Owned)).map_err(StoreError::from))
    }

    fn pairs(&self, scan: &ReadRequest) -> Option<Result<Pairs<'_>, StoreError>> {
        let mut reads = ReadResults::default();
        let read = reads.read(&**self.engine(), vec![scan.clone()]);
        let pairs = read.map(|()| reads.pairs(scan).unwrap_or_default().to_vec());
        Some(pairs.map(Cow::Owned).map_err(StoreError::from))
    }
}
