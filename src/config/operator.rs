//! `[operator]`: the operator's webhook.

use serde::Serialize;
use tintype_storage::domain::secret;

use super::addresses::webhook_url;
use super::node::Item;
use super::reader::Section;
use super::render;
use super::secret::Secret;
use super::values::{integer, or_empty, redacted};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Operator {
    /// Receives the operator's events. `None`: no events are created. Requires `webhook_secret`.
    #[serde(serialize_with = "render::or_blank")]
    pub webhook_url: Option<String>,
    /// Signs the events.
    #[serde(serialize_with = "render::or_blank")]
    pub webhook_secret: Option<Secret>,
    /// Below this much free space the event `disk.low` is sent. 0: never.
    pub disk_low_bytes: u64,
}

impl Operator {
    pub(super) fn read(mut section: Section<'_>) -> Self {
        let read = Self {
            webhook_url: section.required("webhook_url", redacted(or_empty(webhook_url))),
            webhook_secret: section.required("webhook_secret", redacted(or_empty(webhook_secret))),
            disk_low_bytes: section.required("disk_low_bytes", integer(0..=1 << 60)),
        };
        // A faulty value already has its fault, and does not count as missing.
        let is_empty = |key| {
            section.optional(key, |field| match &field.node.item {
                Item::Text(text) => Some(text.is_empty()),
                _ => None,
            })
        };
        match ["webhook_url", "webhook_secret"].map(is_empty) {
            [Some(false), Some(true)] => section.missing(
                "webhook_secret",
                "webhook_url",
                format!("missing, but required with webhook_url; expected {SECRET}"),
            ),
            [Some(true), Some(false)] => section.missing(
                "webhook_url",
                "webhook_secret",
                "missing, but required with webhook_secret".to_owned(),
            ),
            _ => {}
        }
        section.finish();
        read
    }
}

const SECRET: &str = "whsec_ and 44 characters of base64 (32 bytes); make one with \
                      `echo whsec_$(openssl rand -base64 32)`";

fn webhook_secret(text: &str) -> Result<Secret, String> {
    let secret = secret::Secret::parse(text).map_err(|_| SECRET.to_owned())?;
    Ok(Secret::new(secret.text()))
}
