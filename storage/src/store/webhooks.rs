//! Registered webhooks.

use super::table::Scan;
use super::tables::{TEST_DELIVERIES, WEBHOOK_ACCOUNTS, WEBHOOKS};
use super::{All, Store, StoreError, Writes};
use crate::domain::ids::AccountId;
use crate::domain::webhook::{Webhook, WebhookId};
use crate::engine::Direction;

/// Webhooks per account.
pub const MAX_WEBHOOKS: usize = 100;

impl Store {
    /// Oldest first.
    pub async fn webhooks(&self, account: AccountId) -> Result<Vec<Webhook>, StoreError> {
        WEBHOOKS.read(self, webhooks_of(account)).await
    }

    /// Any webhook of any account.
    pub async fn any_webhook(&self) -> Result<Option<Webhook>, StoreError> {
        let first = WEBHOOKS.first(self, &All, Direction::Rising).await?;
        Ok(first.map(|(_, webhook)| webhook))
    }

    /// A webhook of any account.
    pub async fn find_webhook(&self, id: WebhookId) -> Result<Option<Webhook>, StoreError> {
        match WEBHOOK_ACCOUNTS.get(self, &id).await? {
            Some(account) => WEBHOOKS.get(self, &(account, id)).await,
            None => Ok(None),
        }
    }

    /// Adds or changes a webhook.
    pub fn put_webhook(&self, webhook: &Webhook) -> Writes {
        vec![
            WEBHOOKS.put(&(webhook.account, webhook.id), webhook),
            WEBHOOK_ACCOUNTS.put(&webhook.id, &webhook.account),
        ]
    }

    /// Deletes a webhook. Its deliveries stay.
    pub fn remove_webhook(&self, webhook: &Webhook) -> Writes {
        vec![
            WEBHOOKS.delete(&(webhook.account, webhook.id)),
            WEBHOOK_ACCOUNTS.delete(&webhook.id),
            TEST_DELIVERIES.delete(&webhook.id),
        ]
    }
}

/// Oldest first.
pub(super) fn webhooks_of(account: AccountId) -> Scan {
    Scan(WEBHOOKS.range(&account), Direction::Rising, MAX_WEBHOOKS)
}
