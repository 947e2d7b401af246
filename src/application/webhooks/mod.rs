//! Registers, changes, deletes and tests webhooks, and rotates their secrets.

pub(crate) mod deliveries;

use crate::application::caller::Caller;
use crate::application::core::Core;
use crate::application::core::audit_context::Subject;
use crate::application::core::commit::Change;
use crate::application::error::{Error, ErrorKind, FieldFault};
use crate::application::services::WebhookService;
use crate::webhooks::{DeliveryFile, SignatureReport, VaultError};
use serde_json::{Value, json};
use std::time::Duration;
use tintype_egress::{Error as EgressError, parse_url};
use tintype_storage::domain::audit_log::Action;
use tintype_storage::domain::delivery::{Delivery, DeliveryId, DeliveryKind};
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::webhook::{Encoding, Webhook, WebhookId};
use tintype_storage::store::tables::TEST_DELIVERIES;
use tintype_storage::store::{MAX_WEBHOOKS, Write};
use tintype_storage::webhook_wire::secret::WebhookSecret;
use url::Url;

pub use crate::application::error::no_webhook;

/// The same text for every refused host, so that it does not reveal which names exist inside the operator's network.
const NOT_PUBLIC: &str = "must be at a host that resolves to a public address; the operator can permit others with [egress] allow";

const LOOKUP_TIMED_OUT: &str = "is at a host whose name could not be looked up in time; try again";

/// Minimum time between test deliveries of one webhook.
const TEST_INTERVAL: Duration = Duration::from_secs(60);

/// A URL for deliveries that passed all checks before the DNS lookup.
pub struct Target {
    /// As the caller wrote it. URLs are compared character by character.
    text: String,
    url: Url,
}

impl Target {
    pub fn read(webhooks: &WebhookService, text: String) -> Result<Self, FieldFault> {
        let fault = |message: String| FieldFault::new("url", message);
        let url = parse_url(&text).map_err(|it| fault(it.to_string()))?;
        match webhooks.egress.gate().check_host(&url) {
            Ok(_) => Ok(Self { text, url }),
            Err(_) => Err(fault(NOT_PUBLIC.to_owned())),
        }
    }

    /// Checks the resolved addresses as each attempt does, so that the caller learns at once of a URL that cannot work.
    async fn check(&self, webhooks: &WebhookService) -> Result<(), Error> {
        let checked = webhooks.egress.check(&self.url).await;
        checked.map_err(|error| match error {
            EgressError::LookupTimedOut => Error::field("url", LOOKUP_TIMED_OUT),
            _ => Error::field("url", NOT_PUBLIC),
        })
    }
}

/// Finds a webhook that is visible to the caller.
pub async fn find(core: &Core, caller: &Caller, id: WebhookId) -> Result<Webhook, Error> {
    let found = core.store.find_webhook(id).await?;
    let seen = found.filter(|webhook| caller.sees(webhook.account));
    seen.ok_or_else(no_webhook)
}

/// Decrypts the signing secret of a webhook.
pub fn open_secret(webhooks: &WebhookService, webhook: &Webhook) -> Result<WebhookSecret, Error> {
    let opened = webhooks.vault.open(webhook.id, &webhook.secret);
    opened.map_err(|error| decryption_error(webhook, &error))
}

pub struct DeliveryVerification {
    pub report: SignatureReport,
    /// The other webhook of the account that signed the delivery, if this one did not.
    pub signed_by: Option<Webhook>,
}

/// Verifies a received delivery with the secrets of a webhook. `text` is header lines, a blank line and the body.
pub async fn verify(
    webhooks: &WebhookService,
    webhook: &Webhook,
    text: &str,
) -> Result<DeliveryVerification, Error> {
    // Copied text often ends with line breaks; a body never does.
    let text = text.trim_end_matches(['\r', '\n']);
    let received = DeliveryFile::parse(text.as_bytes());
    let received = received.map_err(|it| Error::field("delivery", it.to_string()))?;
    let now = webhooks.core.now();
    let report = |webhook: &Webhook| -> Result<_, Error> {
        let mut secrets = Vec::new();
        for sealed in webhook.signing_secrets(now) {
            let opened = webhooks.vault.open(webhook.id, sealed);
            secrets.push(opened.map_err(|error| decryption_error(webhook, &error))?);
        }
        let headers = received.signed_headers();
        Ok(SignatureReport::new(&secrets, &headers, received.body, now))
    };
    let own = report(webhook)?;
    let mut signed_by = None;
    if own.is_mismatch() {
        let all = webhooks.core.store.webhooks(webhook.account).await?;
        for other in all.into_iter().filter(|it| it.id != webhook.id) {
            if signed_by.is_none() && !report(&other)?.is_mismatch() {
                signed_by = Some(other);
            }
        }
    }
    Ok(DeliveryVerification {
        report: own,
        signed_by,
    })
}

fn decryption_error(webhook: &Webhook, error: &VaultError) -> Error {
    tracing::error!(webhook = %webhook.id, %error, "could not decrypt webhook secret");
    Error::new(ErrorKind::Internal, error.to_string())
}

pub struct NewWebhook {
    pub target: Target,
    pub encoding: Encoding,
    pub active: bool,
}

/// Registers a webhook with a new secret.
pub async fn register(
    webhooks: &WebhookService,
    caller: &Caller,
    account: AccountId,
    new: NewWebhook,
) -> Result<Webhook, Error> {
    let core = &webhooks.core;
    let NewWebhook {
        target,
        encoding,
        active,
    } = new;
    // Before the DNS lookup, which only those who may register a webhook cause.
    caller.reauthorize_change(core, account).await?;
    target.check(webhooks).await?;
    let guard = core.locks.operator.lock().await?;
    let context = caller.reauthorize_change(core, account).await?;
    check_available(core, account, None, &target.text).await?;
    let now = core.now();
    let id = WebhookId(core.new_id(now));
    let secret = webhooks
        .vault
        .seal(id, &WebhookSecret::from_random(rand::random()));
    let webhook = Webhook {
        encoding,
        active,
        ..Webhook::new(id, account, target.text, secret, now)
    };
    let mut writes = core.store.put_webhook(&webhook);
    let (subject, facts) = (subject(&webhook), Some(facts(&webhook)));
    writes.push(context.record(core, Action::WebhookCreate, subject, None, facts));
    core.commit(Change::under_lock(guard, writes)).await?;
    Ok(webhook)
}

/// `None` leaves a field unchanged.
pub struct WebhookChange {
    pub target: Option<Target>,
    pub encoding: Option<Encoding>,
    pub active: Option<bool>,
}

/// Changes a webhook. Writes nothing if nothing changes.
pub async fn change(
    webhooks: &WebhookService,
    caller: &Caller,
    id: WebhookId,
    change: WebhookChange,
) -> Result<Webhook, Error> {
    let core = &webhooks.core;
    if let Some(target) = &change.target {
        target.check(webhooks).await?;
    }
    let url = change.target.map(|it| it.text);
    let guard = core.locks.operator.lock().await?;
    let webhook = find(core, caller, id).await?;
    let context = caller.reauthorize_change(core, webhook.account).await?;
    if let Some(url) = &url {
        check_available(core, webhook.account, Some(id), url).await?;
    }
    let before = facts(&webhook);
    let changed = Webhook {
        url: url.unwrap_or_else(|| webhook.url.clone()),
        encoding: change.encoding.unwrap_or(webhook.encoding),
        active: change.active.unwrap_or(webhook.active),
        ..webhook
    };
    let after = facts(&changed);
    if before != after {
        let mut writes = core.store.put_webhook(&changed);
        let (subject, was, is) = (subject(&changed), Some(before), Some(after));
        writes.push(context.record(core, Action::WebhookChange, subject, was, is));
        core.commit(Change::under_lock(guard, writes)).await?;
    }
    Ok(changed)
}

pub async fn delete(core: &Core, caller: &Caller, id: WebhookId) -> Result<(), Error> {
    let guard = core.locks.operator.lock().await?;
    let webhook = find(core, caller, id).await?;
    let context = caller.reauthorize_change(core, webhook.account).await?;
    let mut writes = core.store.remove_webhook(&webhook);
    let (subject, facts) = (subject(&webhook), Some(facts(&webhook)));
    writes.push(context.record(core, Action::WebhookDelete, subject, facts, None));
    Ok(core.commit(Change::under_lock(guard, writes)).await?)
}

/// Rotates the secret of a webhook. The old secret also signs for a time.
pub async fn rotate_secret(
    webhooks: &WebhookService,
    caller: &Caller,
    id: WebhookId,
) -> Result<Webhook, Error> {
    let core = &webhooks.core;
    let guard = core.locks.operator.lock().await?;
    let webhook = find(core, caller, id).await?;
    let context = caller.reauthorize_change(core, webhook.account).await?;
    let secret = WebhookSecret::from_random(rand::random());
    let rotated = webhook.rotate(webhooks.vault.seal(id, &secret), core.now());
    let [was, is] = [&webhook, &rotated].map(|it| Some(facts(it)));
    let (action, subject) = (Action::WebhookRotateSecret, subject(&rotated));
    let mut writes = core.store.put_webhook(&rotated);
    writes.push(context.record(core, action, subject, was, is));
    core.commit(Change::under_lock(guard, writes)).await?;
    Ok(rotated)
}

/// Adds a test delivery.
///
/// # Errors
/// `Conflict` if the webhook is inactive, `RateLimited` within a minute of the last test
pub async fn test(core: &Core, caller: &Caller, id: WebhookId) -> Result<Delivery, Error> {
    let guard = core.locks.operator.lock().await?;
    let webhook = find(core, caller, id).await?;
    let context = caller.reauthorize_change(core, webhook.account).await?;
    if !webhook.active {
        return Err(Error::conflict(
            "the webhook is inactive; activate it first",
        ));
    }
    let noted = record_test(core, id).await?;
    let now = core.now();
    let id = core.new_id(now);
    // The same id for the delivery and its job, as for a job's event, so that the delivery is found by its `job_id`.
    let delivery = Delivery::new(DeliveryId(id), &webhook, DeliveryKind::Test, id, now);
    let mut writes = core.store.add_delivery(&delivery);
    let (subject, facts) = (subject(&webhook), Some(deliveries::facts(&delivery)));
    writes.push(context.record(core, Action::WebhookTest, subject, None, facts));
    writes.push(noted);
    deliveries::add(core, guard, delivery, writes).await
}

/// Returns the write that records a test delivery. The caller must hold the operator lock.
///
/// # Errors
/// `RateLimited` within a minute of the last one
pub(super) async fn record_test(core: &Core, id: WebhookId) -> Result<Write, Error> {
    let now = core.now();
    let last = TEST_DELIVERIES.get(&core.store, &id).await?;
    // Ignore a future time: the clock was set back.
    let last = last.filter(|last| *last <= now);
    let remaining = last.map_or(0, |last| last.plus(TEST_INTERVAL).millis() - now.millis());
    if remaining > 0 {
        let seconds = u32::try_from(remaining.unsigned_abs().div_ceil(1_000)).unwrap_or(u32::MAX);
        let detail = "a webhook accepts one test delivery a minute; try again later";
        return Err(Error::new(ErrorKind::RateLimited, detail).retry_after(seconds));
    }
    Ok(TEST_DELIVERIES.put(&id, &now))
}

/// Refuses a URL that another webhook of the account uses, and more than [`MAX_WEBHOOKS`].
async fn check_available(
    core: &Core,
    account: AccountId,
    own: Option<WebhookId>,
    url: &str,
) -> Result<(), Error> {
    let webhooks = core.store.webhooks(account).await?;
    let other = webhooks
        .iter()
        .find(|it| it.url == url && Some(it.id) != own);
    if let Some(other) = other {
        return Err(Error::conflict(format!(
            "the account already has a webhook with this URL: {}",
            other.id
        )));
    }
    if own.is_none() && webhooks.len() >= MAX_WEBHOOKS {
        return Err(Error::conflict(format!(
            "the account already has {MAX_WEBHOOKS} webhooks, the maximum; delete one first"
        )));
    }
    Ok(())
}

/// The fields of a webhook that the audit log records: never its secrets.
fn facts(webhook: &Webhook) -> Value {
    let retired = webhook.retired.iter();
    let retired: Vec<String> = retired.map(|it| it.until.to_string()).collect();
    json!({
        "url": webhook.url,
        "encoding": webhook.encoding.as_str(),
        "active": webhook.active,
        "earlier_secrets_until": retired,
    })
}

fn subject(webhook: &Webhook) -> Subject {
    Subject::of(webhook.account, webhook.id.0)
}
