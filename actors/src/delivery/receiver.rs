//! The webhook that a delivery goes to, judged anew before each attempt.

use tintype_storage::domain::delivery::{self, Delivery, DeliveryKind, NoReceiver};
use tintype_storage::domain::webhook::Webhook;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::{Store, StoreError};

/// The webhook that an attempt of this delivery may go to now, or why there is none.
pub(super) fn of(
    store: &Store,
    delivery: &Delivery,
) -> Result<Result<Webhook, NoReceiver>, StoreError> {
    let webhook = store.webhook(delivery.account, delivery.webhook).wait()?;
    // A delivery has the URL that its job named, so the job is read only where the webhook's URL is another one.
    let same_url = webhook.as_ref().is_none_or(|it| it.url == delivery.url);
    if same_url || delivery.kind == DeliveryKind::Test {
        return Ok(delivery::receiver(webhook, None));
    }
    let job = store.job(delivery.account, delivery.job).wait()?;
    let callback = job.as_ref().and_then(|it| it.callback.as_ref());
    Ok(delivery::receiver(webhook, callback))
}
