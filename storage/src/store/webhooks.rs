//! Registered webhooks.

use super::{Page, Store, StoreError, Writes, encode, keys};
use crate::domain::ids::AccountId;
use crate::domain::webhook::{Webhook, WebhookId};
use crate::engine::Direction;

/// Webhooks that an account may register.
pub const MAX_WEBHOOKS: usize = 100;

impl Store {
    /// All webhooks of an account, oldest first.
    pub fn webhooks(&self, account: AccountId) -> Result<Vec<Webhook>, StoreError> {
        Ok(self.webhook_page(account, MAX_WEBHOOKS, None)?.items)
    }

    /// A page of an account's webhooks, oldest first.
    pub fn webhook_page(
        &self,
        account: AccountId,
        limit: usize,
        after: Option<[u8; 16]>,
    ) -> Result<Page<Webhook>, StoreError> {
        self.page(keys::webhooks_of(account), Direction::Rising, limit, after)
    }

    /// The newest webhook of an account.
    pub fn newest_webhook(&self, account: AccountId) -> Result<Option<Webhook>, StoreError> {
        let newest = self.page(keys::webhooks_of(account), Direction::Falling, 1, None)?;
        Ok(newest.items.into_iter().next())
    }

    /// Some webhook of some account, if there is any.
    pub fn any_webhook(&self) -> Result<Option<Webhook>, StoreError> {
        let first = self.page(keys::webhooks(), Direction::Rising, 1, None)?;
        Ok(first.items.into_iter().next())
    }

    /// A webhook of an account.
    pub fn webhook(
        &self,
        account: AccountId,
        id: WebhookId,
    ) -> Result<Option<Webhook>, StoreError> {
        self.read(&keys::webhook(account, id))
    }

    /// A webhook, whoever's it is.
    pub fn find_webhook(&self, id: WebhookId) -> Result<Option<Webhook>, StoreError> {
        match self.read::<AccountId>(&keys::webhook_account(id))? {
            Some(account) => self.webhook(account, id),
            None => Ok(None),
        }
    }

    /// The writes that register a webhook, or change it.
    pub fn put_webhook(&self, webhook: &Webhook) -> Writes {
        vec![
            (
                keys::webhook(webhook.account, webhook.id),
                Some(encode(webhook)),
            ),
            (
                keys::webhook_account(webhook.id),
                Some(encode(&webhook.account)),
            ),
        ]
    }

    /// The writes that remove a webhook. Its deliveries stay on record.
    pub fn remove_webhook(&self, webhook: &Webhook) -> Writes {
        vec![
            (keys::webhook(webhook.account, webhook.id), None),
            (keys::webhook_account(webhook.id), None),
        ]
    }
}
