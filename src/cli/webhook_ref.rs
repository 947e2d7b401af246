//! The argument that names a webhook: its id or its URL.

use super::common::AccountScope;
use super::operator::Operator;
use anyhow::bail;
use std::str::FromStr;
use tintype_api::Webhook;
use tintype_storage::domain::webhook::WebhookId;

#[derive(Clone)]
pub enum WebhookRef {
    Id(WebhookId),
    Url(String),
}

impl FromStr for WebhookRef {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse::<WebhookId>() {
            Ok(id) => Ok(Self::Id(id)),
            Err(_) if text.contains("://") => Ok(Self::Url(text.to_owned())),
            Err(error) => Err(format!("{error}, or the URL of a webhook")),
        }
    }
}

impl WebhookRef {
    /// The client, and the path of the webhook. Looks up a URL among the webhooks of the account, which has no two with the same URL.
    pub async fn path(&self, scope: &AccountScope) -> anyhow::Result<(Operator, String)> {
        let url = match self {
            Self::Id(id) => return Ok((scope.common.operator()?, format!("/webhooks/{id}"))),
            Self::Url(url) => url,
        };
        let (operator, list) = scope.path("/webhooks").await?;
        let webhooks: Vec<Webhook> = operator.all(&list).await?;
        if let Some(webhook) = webhooks.iter().find(|it| it.url == *url) {
            return Ok((operator, format!("/webhooks/{}", &*webhook.webhook_id)));
        }
        bail!("there is no webhook with the URL {url}; find it with `tintype webhook list`")
    }
}
