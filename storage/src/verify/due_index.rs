//! Checks pending deliveries against the due indexes, in both directions. A delivery is in exactly one index: the
//! single-process one or the nodes' one.

use super::Report;
use crate::domain::delivery::{Delivery, DeliveryId};
use crate::domain::shard::Shard;
use crate::domain::time::Timestamp;
use crate::engine::Wait as _;
use crate::store::tables::{DUE_BY_SHARD, DUE_DELIVERIES};
use crate::store::{All, DueDelivery, Store, StoreError};

/// Is a pending delivery in an index?
pub(super) fn verify_entry(
    store: &Store,
    delivery: &Delivery,
    report: &mut Report,
) -> Result<(), StoreError> {
    let Some((due, wanted)) = DueDelivery::of(delivery) else {
        return Ok(());
    };
    let entry = (due, delivery.id);
    let of_shard = (Shard::of(delivery.webhook), entry);
    let whole = DUE_DELIVERIES.get(store, &entry).wait()?;
    let of_shard = DUE_BY_SHARD.get(store, &of_shard).wait()?;
    let fault = match [whole, of_shard].map(|it| it == Some(wanted)) {
        [true, false] | [false, true] => return Ok(()),
        [false, false] => "the due index lacks it",
        [true, true] => "both due indexes list it",
    };
    let id = delivery.id;
    report.fault(format!("delivery {id} is due at {due}, {fault}"));
    Ok(())
}

/// Does each entry refer to a pending delivery?
pub(super) fn verify_indexes(store: &Store, report: &mut Report) -> Result<(), StoreError> {
    let mut check = |due: Timestamp, id: DeliveryId, shard: Option<Shard>| {
        let delivery = store.delivery(id).wait()?;
        let of_shard = |it: &Delivery| shard.is_none_or(|shard| shard == Shard::of(it.webhook));
        let found = delivery.filter(of_shard).and_then(|it| it.state.due());
        if found != Some(due) {
            report.fault(format!(
                "the due index has delivery {id} at {due}, its record does not"
            ));
        }
        Ok(())
    };
    DUE_DELIVERIES
        .each(store, &All, |(due, id), _| check(due, id, None))
        .wait()?;
    DUE_BY_SHARD
        .each(store, &All, |(shard, (due, id)), _| {
            check(due, id, Some(shard))
        })
        .wait()
}
