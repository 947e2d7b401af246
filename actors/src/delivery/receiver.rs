//! The webhook that a delivery goes to, judged anew before each attempt.

use super::context::DeliveryContext;
use tintype_storage::domain::delivery::{self, Delivery, DeliveryKind, NoReceiver};
use tintype_storage::domain::ids::{BatchId, JobId};
use tintype_storage::domain::webhook::Webhook;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::StoreError;

/// The webhook that an attempt of this delivery may go to now, or why there is none.
pub(super) fn of(
    context: &DeliveryContext,
    delivery: &Delivery,
) -> Result<Result<Webhook, NoReceiver>, StoreError> {
    let DeliveryContext {
        store, operator, ..
    } = context;
    if delivery.kind == DeliveryKind::Operator {
        return Ok(delivery::receiver(operator.as_deref().cloned(), None));
    }
    let webhook = store.webhook(delivery.account, delivery.webhook).wait()?;
    // A delivery has the URL that its job or batch named, so the job or batch is read only where the webhook's URL is another one.
    let same_url = webhook.as_ref().is_none_or(|it| it.url == delivery.url);
    if same_url {
        return Ok(delivery::receiver(webhook, None));
    }
    let account = delivery.account;
    let callback = match delivery.kind {
        DeliveryKind::Test | DeliveryKind::Operator => None,
        DeliveryKind::Event => {
            let job = store.job(account, JobId(delivery.subject)).wait()?;
            job.and_then(|it| it.callback)
        }
        DeliveryKind::Batch => {
            let batch = store.batch(account, BatchId(delivery.subject)).wait()?;
            batch.and_then(|(batch, _)| batch.callback)
        }
    };
    Ok(delivery::receiver(webhook, callback.as_ref()))
}
