//! Webhooks.

use crate::field::{Encoding as EncodingField, Flag, Optional, WebhookUrl};
use crate::text::{EncodingWord, Id, Moment, SecretText};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tintype_storage::domain::canonical::Encoding;
use tintype_storage::domain::webhook;

/// A request to register a webhook, which requires `url`, or to change one.
pub struct WebhookFields {
    pub url: Option<String>,
    pub encoding: Option<Encoding>,
    pub active: Option<bool>,
}

body!(WebhookFields {
    /// The URL of the receiver: http or https, at a public address.
    url: Optional<WebhookUrl>,
    /// The JSON encoding of bodies: `ascii` escapes like Python's `json`, the default, `utf8` like JavaScript.
    encoding: Optional<EncodingField>,
    /// If `false`, nothing is sent to this webhook, and its deliveries fail with the reason `webhook inactive`. No other webhook receives them instead.
    active: Optional<Flag>,
});

/// A webhook.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Webhook {
    /// The webhook's id.
    pub webhook_id: Id,
    /// The account of the webhook.
    pub account_id: Id,
    /// The URL of the receiver.
    pub url: String,
    /// The secret that signs deliveries. Present only if you requested it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SecretText")]
    pub secret: Option<SecretText>,
    /// The JSON encoding of bodies.
    pub encoding: EncodingWord,
    /// Does the webhook receive deliveries? If not, they fail with the reason `webhook inactive`.
    pub active: bool,
    /// When the webhook was registered.
    pub created_at: Moment,
}

impl From<webhook::Webhook> for Webhook {
    /// Omits the secret.
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
