//! Webhooks.

use crate::field::{Encoding as EncodingField, Flag, Optional, WebhookUrl};
use crate::text::{EncodingWord, Id, Moment, SecretText};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tintype_storage::domain::canonical::Encoding;
use tintype_storage::domain::webhook;

/// A webhook to register, which needs the `url`, or a change of one.
pub struct WebhookFields {
    pub url: Option<String>,
    pub encoding: Option<Encoding>,
    pub active: Option<bool>,
}

body!(WebhookFields {
    /// Where deliveries go: http or https, at a public address.
    url: Optional<WebhookUrl>,
    /// How bodies are written: `ascii` as Python's json does, the default, or `utf8` as JavaScript does.
    encoding: Optional<EncodingField>,
    /// While it is `false`, deliveries to this webhook fail with the reason `webhook inactive` and nothing is sent. It keeps its place, so no other webhook gets them.
    active: Optional<Flag>,
});

/// A webhook on the wire.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Webhook {
    /// The webhook's id.
    pub webhook_id: Id,
    /// Whose it is.
    pub account_id: Id,
    /// Where deliveries go.
    pub url: String,
    /// What signs them. Left out where it was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SecretText")]
    pub secret: Option<SecretText>,
    /// How bodies are written.
    pub encoding: EncodingWord,
    /// Does it receive deliveries? While it does not, they fail with the reason `webhook inactive`.
    pub active: bool,
    /// When it was registered.
    pub created_at: Moment,
}

impl From<webhook::Webhook> for Webhook {
    /// Without the secret.
    fn from(webhook: webhook::Webhook) -> Self {
        Self {
            webhook_id: webhook.id.into(),
            account_id: webhook.account.into(),
            url: webhook.url,
            secret: None,
            encoding: webhook.encoding.word().into(),
            active: webhook.active,
            created_at: webhook.created_at.into(),
        }
    }
}
