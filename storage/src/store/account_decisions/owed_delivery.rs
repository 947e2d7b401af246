//! The deliveries that decisions create: for the end of a job or a batch, and for the operator.

use super::Decisions;
use crate::domain::delivery::{Delivery, DeliveryId, DeliveryKind, FailReason};
use crate::domain::ids::AccountId;
use crate::domain::job::{Callback, Job, Origin};
use crate::domain::operator_event::EventSubject;
use crate::domain::time::Timestamp;
use crate::domain::webhook::{self, Webhook};
use crate::store::operator_events::with_event;

impl Decisions<'_> {
    /// Adds an operator event if the decisions bring the account below its `low_balance`. Call it once, after the last
    /// decision.
    pub fn report_low_balance(
        &mut self,
        operator: &Webhook,
        id: impl FnOnce() -> DeliveryId,
        now: Timestamp,
    ) {
        if let Some(subject) = EventSubject::of_account(&self.state.account, &self.next.account) {
            let delivery = Delivery::of_operator_event(id(), operator, now);
            self.records.put_all(with_event(&delivery, subject));
            self.deliveries.push(delivery);
        }
    }
}

/// The delivery of a job's event.
pub(super) fn of_job(
    job: &Job,
    webhooks: &[Webhook],
    ended: Timestamp,
    now: Timestamp,
) -> Option<Delivery> {
    if job.origin != Origin::Native {
        return None;
    }
    let owed = OwedDelivery {
        id: DeliveryId(job.id.0),
        account: job.account,
        kind: DeliveryKind::Event,
        callback: job.callback.as_ref(),
    };
    owed.into_delivery(webhooks, ended, now)
}

/// A delivery for the end of a job or batch. The commit of the end chooses the receiver. The delivery's id is the id of the job
/// or batch, which ends once.
pub(super) struct OwedDelivery<'a> {
    pub id: DeliveryId,
    pub account: AccountId,
    pub kind: DeliveryKind,
    pub callback: Option<&'a Callback>,
}

impl OwedDelivery<'_> {
    pub(super) fn into_delivery(
        self,
        webhooks: &[Webhook],
        ended: Timestamp,
        now: Timestamp,
    ) -> Option<Delivery> {
        let Self {
            id, account, kind, ..
        } = self;
        let url = self.callback.map(|callback| callback.url.as_str());
        let delivery = match (webhook::choose(webhooks, url), self.callback) {
            (Some(webhook), _) => Delivery::new(id, webhook, kind, id.0, now),
            (None, Some(callback)) => {
                let moved = webhooks.iter().any(|it| it.id == callback.webhook);
                let reason = match moved {
                    true => FailReason::WebhookMoved,
                    false => FailReason::WebhookDeleted,
                };
                Delivery::without_receiver(id, account, callback, kind, now, reason)
            }
            (None, None) => return None,
        };
        // Created at the time of the end, which may lie in the future after a clock set back: so a sweep never deletes it
        // as older than that end.
        Some(Delivery {
            created_at: ended,
            ..delivery
        })
    }
}
