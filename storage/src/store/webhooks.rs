//! Registered webhooks.

use super::tables::{TEST_DELIVERIES, VAULT_KEY, WEBHOOK_ACCOUNTS, WEBHOOKS};
use super::{All, Page, Store, StoreError, Write, Writes};
use crate::domain::ids::AccountId;
use crate::domain::time::Timestamp;
use crate::domain::webhook::{SealedSecret, Webhook, WebhookId};
use crate::engine::{Ask, Direction};

/// Webhooks that an account may register.
pub const MAX_WEBHOOKS: usize = 100;

impl Store {
    /// All webhooks of an account, oldest first.
    pub async fn webhooks(&self, account: AccountId) -> Result<Vec<Webhook>, StoreError> {
        WEBHOOKS.read(self, &webhooks_of(account)).await
    }

    /// A page of an account's webhooks, oldest first.
    pub async fn webhook_page(
        &self,
        account: AccountId,
        limit: usize,
        after: Option<[u8; 16]>,
    ) -> Result<Page<Webhook>, StoreError> {
        let page = WEBHOOKS
            .page(self, &account, Direction::Rising, limit, after)
            .await?;
        Ok(page.records())
    }

    /// The newest webhook of an account.
    pub async fn newest_webhook(&self, account: AccountId) -> Result<Option<Webhook>, StoreError> {
        let newest = WEBHOOKS
            .page(self, &account, Direction::Falling, 1, None)
            .await?;
        Ok(newest.records().items.pop())
    }

    /// Some webhook of some account, if there is any.
    pub async fn any_webhook(&self) -> Result<Option<Webhook>, StoreError> {
        let first = WEBHOOKS
            .page(self, &All, Direction::Rising, 1, None)
            .await?;
        Ok(first.records().items.pop())
    }

    /// The sealed key that the secrets of webhooks are sealed under, where nodes have shared this store.
    pub async fn vault_key(&self) -> Result<Option<SealedSecret>, StoreError> {
        VAULT_KEY.get(self, &()).await
    }

    /// A webhook of an account.
    pub async fn webhook(
        &self,
        account: AccountId,
        id: WebhookId,
    ) -> Result<Option<Webhook>, StoreError> {
        WEBHOOKS.get(self, &(account, id)).await
    }

    /// A webhook of any account.
    pub async fn find_webhook(&self, id: WebhookId) -> Result<Option<Webhook>, StoreError> {
        match WEBHOOK_ACCOUNTS.get(self, &id).await? {
            Some(account) => self.webhook(account, id).await,
            None => Ok(None),
        }
    }

    /// The writes that register a webhook, or change it.
    pub fn put_webhook(&self, webhook: &Webhook) -> Writes {
        vec![
            WEBHOOKS.put(&(webhook.account, webhook.id), webhook),
            WEBHOOK_ACCOUNTS.put(&webhook.id, &webhook.account),
        ]
    }

    /// The writes that remove a webhook. Its deliveries stay on record.
    pub fn remove_webhook(&self, webhook: &Webhook) -> Writes {
        vec![
            WEBHOOKS.delete(&(webhook.account, webhook.id)),
            WEBHOOK_ACCOUNTS.delete(&webhook.id),
            TEST_DELIVERIES.delete(&webhook.id),
        ]
    }

    /// When a webhook was last sent a test delivery.
    pub async fn last_test_delivery(&self, id: WebhookId) -> Result<Option<Timestamp>, StoreError> {
        TEST_DELIVERIES.get(self, &id).await
    }

    /// The write that notes a test delivery.
    pub fn note_test_delivery(&self, id: WebhookId, at: Timestamp) -> Write {
        TEST_DELIVERIES.put(&id, &at)
    }
}

/// Reads all webhooks of an account, oldest first.
pub(super) fn webhooks_of(account: AccountId) -> Ask {
    Ask::Scan(WEBHOOKS.range(&account), Direction::Rising, MAX_WEBHOOKS)
}
