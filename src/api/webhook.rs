//! Webhooks on the wire.

use super::fields::Fields;
use super::kinds;
use crate::application::error::Error;
use crate::application::state::AppState;
use crate::application::webhooks::{Target, open_secret};
use schemars::JsonSchema;
use serde::Serialize;
use tintype_storage::domain::canonical::Encoding;
use tintype_storage::domain::webhook::Webhook;

/// The fields of a webhook.
pub const FIELDS: &[&str] = &["url", "encoding"];

/// A webhook on the wire.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Webhook", deny_unknown_fields)]
pub struct WebhookView {
    /// The webhook's id.
    #[schemars(with = "kinds::Id")]
    webhook_id: String,
    /// Whose it is.
    #[schemars(with = "kinds::Id")]
    account_id: String,
    /// Where deliveries go.
    url: String,
    /// What signs them. Left out where it was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "kinds::SecretText")]
    secret: Option<String>,
    /// How bodies are written.
    #[schemars(with = "kinds::EncodingWord")]
    encoding: &'static str,
    /// When it was registered.
    #[schemars(with = "kinds::Moment")]
    created_at: String,
}

impl WebhookView {
    /// A webhook with its secret.
    pub fn with_secret(state: &AppState, webhook: Webhook) -> Result<Self, Error> {
        let secret = open_secret(state, &webhook)?;
        Ok(Self {
            secret: Some(secret.text()),
            ..Self::without_secret(webhook)
        })
    }

    /// The same for eyes that must not see secrets.
    pub fn without_secret(webhook: Webhook) -> Self {
        Self {
            webhook_id: webhook.id.to_string(),
            account_id: webhook.account.to_string(),
            url: webhook.url,
            secret: None,
            encoding: webhook.encoding.word(),
            created_at: webhook.created_at.to_string(),
        }
    }
}

/// A webhook that is to be registered.
pub fn read_new(state: &AppState, body: &[u8]) -> Result<(Target, Encoding), Error> {
    let mut fields = Fields::parse(body).map_err(Error::invalid)?;
    let url = fields.required_string("url");
    let target = target(state, &mut fields, url);
    let encoding = encoding(&mut fields).unwrap_or(Encoding::Ascii);
    fields.finish(FIELDS).map_err(Error::invalid)?;
    let target = target.ok_or_else(|| Error::field("url", "is required"))?;
    Ok((target, encoding))
}

/// What a body asks to be different about a webhook.
pub fn read_change(
    state: &AppState,
    body: &[u8],
) -> Result<(Option<Target>, Option<Encoding>), Error> {
    let mut fields = Fields::parse(body).map_err(Error::invalid)?;
    let url = fields.optional_string("url");
    let target = target(state, &mut fields, url);
    let encoding = encoding(&mut fields);
    fields.finish(FIELDS).map_err(Error::invalid)?;
    Ok((target, encoding))
}

fn target(state: &AppState, fields: &mut Fields<'_>, text: Option<String>) -> Option<Target> {
    match Target::read(state, text?) {
        Ok(target) => Some(target),
        Err(fault) => {
            fields.fault(fault.field, fault.message);
            None
        }
    }
}

fn encoding(fields: &mut Fields<'_>) -> Option<Encoding> {
    let word = fields.optional_string("encoding")?;
    let known = word.parse().ok();
    if known.is_none() {
        fields.fault("encoding", "must be ascii or utf8");
    }
    known
}
