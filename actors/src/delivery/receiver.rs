//! The receiver of a delivery, determined again before each attempt.

use super::context::DeliveryContext;
use crate::process_context::ProcessContext;
use std::sync::Arc;
use tintype_storage::domain::delivery::{self, Delivery, DeliveryId, DeliveryKind, NoReceiver};
use tintype_storage::domain::ids::{BatchId, JobId};
use tintype_storage::domain::webhook::Webhook;
use tintype_storage::store::StoreError;
use tintype_storage::store::tables::WEBHOOKS;

/// A delivery, if it exists, and the webhook to which it may be sent now.
pub(super) type FindResult = Result<Option<(Delivery, Result<Webhook, NoReceiver>)>, StoreError>;

pub(super) async fn find(context: Arc<DeliveryContext>, id: DeliveryId) -> FindResult {
    let Some(delivery) = context.process.store.delivery(id).await? else {
        return Ok(None);
    };
    let receiver = of(&context.process, &delivery).await?;
    Ok(Some((delivery, receiver)))
}

async fn of(
    process: &ProcessContext,
    delivery: &Delivery,
) -> Result<Result<Webhook, NoReceiver>, StoreError> {
    let ProcessContext {
        store, operator, ..
    } = process;
    if delivery.kind == DeliveryKind::Operator {
        return Ok(delivery::receiver(operator.as_deref().cloned(), None));
    }
    let id = (delivery.account, delivery.webhook);
    let webhook = WEBHOOKS.get(store, &id).await?;
    // A delivery has the URL that its job or batch named, so the job or batch is read only if the webhook has another URL.
    let same_url = webhook.as_ref().is_none_or(|it| it.url == delivery.url);
    if same_url {
        return Ok(delivery::receiver(webhook, None));
    }
    let account = delivery.account;
    let callback = match delivery.kind {
        DeliveryKind::Test | DeliveryKind::Operator => None,
        DeliveryKind::Event => {
            let job = store.job(account, JobId(delivery.subject)).await?;
            job.and_then(|it| it.callback)
        }
        DeliveryKind::Batch => {
            let batch = store.batch(account, BatchId(delivery.subject)).await?;
            batch.and_then(|(batch, _)| batch.callback)
        }
    };
    Ok(delivery::receiver(webhook, callback.as_ref()))
}
