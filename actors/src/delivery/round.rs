//! A round that changes deliveries. It holds their records from before the read until the commit, so that no node overwrites the record of
//! another one.

use crate::round::{Decision, DecisionStep};
use tintype_storage::domain::delivery::{Delivery, DeliveryId};
use tintype_storage::domain::ids::AccountId;
use tintype_storage::engine::{Key, ReadRequest, ReadResults};
use tintype_storage::store::tables::DELIVERIES;
use tintype_storage::store::{StoreError, Writes};

pub(super) struct DeliveryRound<D> {
    pub of: Vec<(AccountId, DeliveryId)>,
    /// Decides on the current deliveries, in the order of `of`.
    pub decide: D,
}

impl<D, T> Decision for DeliveryRound<D>
where
    D: Fn(Vec<Option<Delivery>>) -> (Writes, T) + Send + 'static,
    T: Send + 'static,
{
    type Outcome = T;

    fn holds(&self) -> Vec<Key> {
        self.of.iter().map(|key| DELIVERIES.key(key)).collect()
    }

    fn needs(&self) -> Vec<ReadRequest> {
        self.of.iter().map(|key| DELIVERIES.request(key)).collect()
    }

    fn decide(&self, reads: &ReadResults) -> Result<DecisionStep<T>, StoreError> {
        let found = self.of.iter().map(|key| DELIVERIES.of_reads(reads, key));
        let (writes, outcome) = (self.decide)(found.collect::<Result<_, _>>()?);
        Ok(DecisionStep::Write(writes, outcome))
    }
}
