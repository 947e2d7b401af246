//! Deletes old deliveries. The delivery actor does this, because a redelivery of one of them may arrive at the same time.

use super::change::Changes;
use super::command::Reply;
use tintype_storage::domain::delivery::DeliveryId;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::StoreError;

/// See [`DeliveryCommand::Forget`](super::DeliveryCommand::Forget).
pub struct Forget {
    pub older_than: Timestamp,
    pub cursor: Vec<u8>,
    pub limit: usize,
    pub reply: Reply<Vec<u8>, StoreError>,
}

/// Deletes old deliveries, except those with an attempt or a commit in flight.
pub fn forget(
    step: Forget,
    has_attempt: impl Fn(DeliveryId) -> bool,
    changes: &mut Changes,
) -> Result<(), StoreError> {
    let Forget {
        older_than,
        cursor,
        limit,
        reply,
    } = step;
    let keep = |id| changes.is_committing(id) || has_attempt(id);
    let store = &changes.context().process.store;
    let forgotten = store
        .forget_deliveries(older_than, &cursor, limit, keep)
        .wait()?;
    let cursor = forgotten.cursor;
    if forgotten.writes.is_empty() {
        drop(reply.send(Ok(cursor)));
        return Ok(());
    }
    changes.remove(forgotten.deliveries, forgotten.writes, move |outcome| {
        drop(reply.send(outcome.map(|()| cursor)));
    });
    Ok(())
}
