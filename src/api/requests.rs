//! Parses requests that need more than their body.

use crate::application::error::{Error, FieldFault};
use crate::application::paging::TimeRange;
use crate::application::services::WebhookService;
use crate::application::webhooks::deliveries::Range;
use crate::application::webhooks::{NewWebhook, Target, WebhookChange};
use tintype_api::field::{Encoding as EncodingField, Flag, WebhookUrl};
use tintype_api::{Body, Fields, Optional, Presence as _, RedeliveryRange, WebhookFields};
use tintype_storage::domain::webhook::Encoding;
use uuid::Uuid;

pub fn read<B: Body>(body: &[u8]) -> Result<B, Error> {
    tintype_api::read(body).map_err(Error::invalid)
}

/// Reads a body together with the idempotency key of its call, and lists the faults of both.
pub fn read_once<B: Body>(
    body: &[u8],
    key: Result<Option<String>, FieldFault>,
) -> Result<(B, Option<String>), Error> {
    let mut fields = Fields::parse(body).map_err(Error::invalid)?;
    let read = B::take(&mut fields);
    let key = key.unwrap_or_else(|fault| {
        fields.fault(fault.field, fault.message);
        None
    });
    fields.finish(B::FIELDS).map_err(Error::invalid)?;
    let read = read.ok_or_else(|| Error::field("body", "is incomplete"))?;
    Ok((read, key))
}

/// Reads an optional body.
pub fn read_optional<B: Body + Default>(body: Option<&[u8]>) -> Result<B, Error> {
    body.map_or_else(|| Ok(B::default()), read)
}

/// Reads a body and requires some of its optional fields.
pub fn read_requiring<B: Body>(body: &[u8], required: &'static [&'static str]) -> Result<B, Error> {
    tintype_api::read_requiring(body, required).map_err(Error::invalid)
}

pub fn new_webhook(webhooks: &WebhookService, body: &[u8]) -> Result<NewWebhook, Error> {
    let fields = webhook(webhooks, body, &["url"])?;
    Ok(NewWebhook {
        target: fields
            .target
            .ok_or_else(|| Error::field("url", "is required"))?,
        encoding: fields.encoding.unwrap_or(Encoding::Ascii),
        active: fields.active.unwrap_or(true),
    })
}

pub fn webhook_change(webhooks: &WebhookService, body: &[u8]) -> Result<WebhookChange, Error> {
    webhook(webhooks, body, &[])
}

/// Checks the URL against the address rules here, so that its fault is listed with the others.
fn webhook(
    webhooks: &WebhookService,
    body: &[u8],
    required: &'static [&'static str],
) -> Result<WebhookChange, Error> {
    let fields = Fields::parse(body).map_err(Error::invalid)?;
    let mut fields = fields.requiring(required);
    let url = Optional::<WebhookUrl>::take(&mut fields, "url").flatten();
    let target = url.and_then(|url| match Target::read(webhooks, url) {
        Ok(target) => Some(target),
        Err(fault) => {
            fields.fault(fault.field, fault.message);
            None
        }
    });
    let encoding = Optional::<EncodingField>::take(&mut fields, "encoding").flatten();
    let active = Optional::<Flag>::take(&mut fields, "active").flatten();
    fields
        .finish(WebhookFields::FIELDS)
        .map_err(Error::invalid)?;
    Ok(WebhookChange {
        target,
        encoding,
        active,
    })
}

pub fn redelivery_range(body: Option<&[u8]>) -> Result<Range, Error> {
    let RedeliveryRange { from, to, cursor } = read_optional(body)?;
    Ok(Range {
        created: TimeRange { from, to },
        after: cursor.map(Uuid::into_bytes),
    })
}
