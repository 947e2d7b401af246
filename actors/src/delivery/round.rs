//! A round that changes deliveries. It holds their records from before the read until the commit, so that no node overwrites the record of
//! another one.

use tintype_storage::domain::delivery::{Delivery, DeliveryId};
use tintype_storage::domain::ids::AccountId;
use tintype_storage::engine::{EngineError, Key, ReadRequest, ReadResults, Round, RoundStep};
use tintype_storage::store::tables::DELIVERIES;
use tintype_storage::store::{StoreError, Writes};

/// `D` decides on the current deliveries, in the order of `keys`. `E` receives the outcome once it is durable.
pub(super) struct DeliveryRound<D, T, E> {
    keys: Vec<Key>,
    decide: D,
    outcome: Option<Result<T, StoreError>>,
    end: E,
}

impl<D, T, E> DeliveryRound<D, T, E> {
    pub fn new(of: &[(AccountId, DeliveryId)], decide: D, end: E) -> Self {
        Self {
            keys: of.iter().map(|key| DELIVERIES.key(key)).collect(),
            decide,
            outcome: None,
            end,
        }
    }

    fn read_deliveries(&self, reads: &ReadResults) -> Result<Vec<Option<Delivery>>, StoreError> {
        let found = self.keys.iter().map(|key| {
            let value = reads.value(key).ok_or(StoreError::NotRead)?;
            value.map(|it| DELIVERIES.decode(it)).transpose()
        });
        found.collect()
    }
}

impl<D, T, E> Round for DeliveryRound<D, T, E>
where
    D: FnMut(Vec<Option<Delivery>>) -> (Writes, T) + Send,
    T: Send,
    E: FnOnce(Result<T, StoreError>) + Send,
{
    fn holds(&self) -> Vec<Key> {
        self.keys.clone()
    }

    fn needs(&self) -> Vec<ReadRequest> {
        self.keys.iter().cloned().map(ReadRequest::Get).collect()
    }

    fn decide(&mut self, reads: &ReadResults) -> RoundStep {
        let (writes, outcome) = match self.read_deliveries(reads) {
            Ok(found) => {
                let (writes, outcome) = (self.decide)(found);
                (writes, Ok(outcome))
            }
            Err(error) => (Writes::new(), Err(error)),
        };
        self.outcome = Some(outcome);
        RoundStep::Write(writes)
    }

    fn done(self: Box<Self>, durable: Result<(), EngineError>) {
        let Self { outcome, end, .. } = *self;
        let stopped = || Err(StoreError::Engine(EngineError::Stopped));
        end(match durable {
            Ok(()) => outcome.unwrap_or_else(stopped),
            Err(error) => Err(error.into()),
        });
    }
}
