//! Registered webhooks: made, listed, changed, removed, tested, and their secrets rotated.

use super::accounts::find;
use super::deliveries::DeliveryView;
use crate::api::fields::Fields;
use crate::api::kinds;
use crate::application::audit_context::{Subject, to_audit_entry};
use crate::application::commit::Change;
use crate::application::error;
use crate::application::state::AppState;
use crate::web::auth::Operator;
use crate::web::body;
use crate::web::paging::{Listing, Window};
use crate::web::problem::{Code, Problem};
use actix_web::{HttpRequest, HttpResponse, web};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use tintype_actors::delivery::DeliveryCommand;
use tintype_egress::parse_url;
use tintype_storage::domain::audit_log::{Action, AuditEntry};
use tintype_storage::domain::canonical::Encoding;
use tintype_storage::domain::delivery::{Delivery, DeliveryId, DeliveryKind};
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::secret::Secret;
use tintype_storage::domain::webhook::{Webhook, WebhookId};
use tintype_storage::store::MAX_WEBHOOKS;
use tokio::sync::oneshot;
use url::Url;

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

fn view(state: &AppState, webhook: Webhook) -> Result<WebhookView, Problem> {
    let secret = state
        .vault
        .open(webhook.id, &webhook.secret)
        .map_err(|error| {
            tracing::error!(webhook = %webhook.id, %error, "a secret");
            Problem::new(Code::Internal, error.to_string())
        })?;
    Ok(WebhookView {
        secret: Some(secret.text()),
        ..without_secret(webhook)
    })
}

fn without_secret(webhook: Webhook) -> WebhookView {
    WebhookView {
        webhook_id: webhook.id.to_string(),
        account_id: webhook.account.to_string(),
        url: webhook.url,
        secret: None,
        encoding: webhook.encoding.word(),
        created_at: webhook.created_at.to_string(),
    }
}

/// What the audit log says of a webhook: its secrets by their number alone.
fn facts(webhook: &Webhook) -> Value {
    let retired = webhook.retired.iter();
    let retired: Vec<String> = retired.map(|it| it.until.to_string()).collect();
    json!({"url": webhook.url, "encoding": webhook.encoding.word(), "earlier_secrets_until": retired})
}

fn line(state: &AppState, operator: &Operator, action: Action, webhook: &Webhook) -> AuditEntry {
    let subject = Subject {
        account: Some(webhook.account),
        id: Some(webhook.id.0),
    };
    operator.author.line(state, action, subject)
}

/// `POST /accounts/{account_id}/webhooks`
pub async fn register(
    operator: Operator,
    path: web::Path<String>,
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let account = find(&state, &path)?;
    let body = body::read_json(&request, payload, &state).await?;
    let mut fields = Fields::parse(&body).map_err(Problem::validation)?;
    let url = fields.required_string("url");
    let url = read_url(&state, &mut fields, url);
    let encoding = read_encoding(&mut fields).unwrap_or(Encoding::Ascii);
    fields.finish(FIELDS).map_err(Problem::validation)?;
    let url = url.ok_or_else(|| Problem::field("url", "is required"))?;
    check_address(&state, &url).await?;
    let turn = state.operator.take().await;
    let url = url.text;
    check_free(&state, account.id, None, &url)?;
    let now = state.now();
    let id = WebhookId(state.system.accounts().context().ids.next(now));
    let secret = state.vault.seal(id, &Secret::from_random(rand::random()));
    let webhook = Webhook {
        id,
        account: account.id,
        url,
        encoding,
        secret,
        retired: Vec::new(),
        created_at: now,
    };
    let mut writes = state.store.put_webhook(&webhook);
    let line = line(&state, &operator, Action::WebhookCreate, &webhook);
    writes.push(
        state
            .store
            .add_audit(&to_audit_entry(line, None, Some(facts(&webhook)))),
    );
    state.commit(Change::in_turn(turn, writes)).await?;
    Ok(HttpResponse::Created().json(view(&state, webhook)?))
}

/// A URL that deliveries may be sent to.
struct Target {
    /// As it was written: it is compared character for character.
    text: String,
    url: Url,
}

/// One text for every host that is not taken: it tells nobody which names exist inside the operator's network.
const NOT_PUBLIC: &str =
    "must be at a host that resolves to a public address; [egress] allow opens ranges of your own";

/// A target as far as can be said without a look-up.
fn read_url(state: &AppState, fields: &mut Fields<'_>, text: Option<String>) -> Option<Target> {
    let text = text?;
    match parse_url(&text) {
        Ok(url) if state.egress.gate().check_host(&url).is_ok() => {
            return Some(Target { text, url });
        }
        Ok(_) => fields.fault("url", NOT_PUBLIC),
        Err(fault) => fields.fault("url", fault.to_string()),
    }
    None
}

/// The same gate as at each attempt, after the look-up: what could never be delivered is told where it can be mended.
async fn check_address(state: &AppState, target: &Target) -> Result<(), Problem> {
    let checked = state.egress.check(&target.url).await;
    checked.map_err(|_| Problem::field("url", NOT_PUBLIC))
}

fn read_encoding(fields: &mut Fields<'_>) -> Option<Encoding> {
    let word = fields.optional_string("encoding")?;
    let known = word.parse().ok();
    if known.is_none() {
        fields.fault("encoding", "must be ascii or utf8");
    }
    known
}

/// Refuses a URL that another webhook of the account has, and more webhooks than an account may have.
fn check_free(
    state: &AppState,
    account: AccountId,
    own: Option<WebhookId>,
    url: &str,
) -> Result<(), Problem> {
    let webhooks = state.store.webhooks(account)?;
    if webhooks
        .iter()
        .any(|it| it.url == url && Some(it.id) != own)
    {
        return Err(Problem::new(
            Code::Conflict,
            "the account has a webhook with this URL",
        ));
    }
    if own.is_none() && webhooks.len() >= MAX_WEBHOOKS {
        return Err(Problem::new(
            Code::Conflict,
            format!("the account has {MAX_WEBHOOKS} webhooks, the most it may have"),
        ));
    }
    Ok(())
}

/// `GET /accounts/{account_id}/webhooks`
pub async fn list(
    _: Operator,
    path: web::Path<String>,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let account = find(&state, &path)?;
    let window = Window::of(&request)?;
    let page = state
        .store
        .webhook_page(account.id, window.limit, window.after)?;
    Ok(HttpResponse::Ok().json(Listing::try_new(page, |webhook| view(&state, webhook))?))
}

/// The same for eyes that must not see secrets.
pub fn list_without_secrets(
    account: AccountId,
    request: &HttpRequest,
    state: &AppState,
) -> Result<HttpResponse, Problem> {
    let window = Window::of(request)?;
    let page = state
        .store
        .webhook_page(account, window.limit, window.after)?;
    Ok(HttpResponse::Ok().json(Listing::new(page, without_secret)))
}

/// `GET /webhooks/{webhook_id}`
pub async fn show(
    _: Operator,
    path: web::Path<String>,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    Ok(HttpResponse::Ok().json(view(&state, find_webhook(&state, &path)?)?))
}

/// `PATCH /webhooks/{webhook_id}`
pub async fn change(
    operator: Operator,
    path: web::Path<String>,
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    find_webhook(&state, &path)?;
    let body = body::read_json(&request, payload, &state).await?;
    let mut fields = Fields::parse(&body).map_err(Problem::validation)?;
    let url = fields.optional_string("url");
    let url = read_url(&state, &mut fields, url);
    let encoding = read_encoding(&mut fields);
    fields.finish(FIELDS).map_err(Problem::validation)?;
    if let Some(url) = &url {
        check_address(&state, url).await?;
    }
    let url = url.map(|it| it.text);
    let turn = state.operator.take().await;
    let webhook = find_webhook(&state, &path)?;
    if let Some(url) = &url {
        check_free(&state, webhook.account, Some(webhook.id), url)?;
    }
    let before = facts(&webhook);
    let changed = Webhook {
        url: url.unwrap_or_else(|| webhook.url.clone()),
        encoding: encoding.unwrap_or(webhook.encoding),
        ..webhook
    };
    let after = facts(&changed);
    if before != after {
        let mut writes = state.store.put_webhook(&changed);
        let line = line(&state, &operator, Action::WebhookChange, &changed);
        writes.push(
            state
                .store
                .add_audit(&to_audit_entry(line, Some(before), Some(after))),
        );
        state.commit(Change::in_turn(turn, writes)).await?;
    }
    Ok(HttpResponse::Ok().json(view(&state, changed)?))
}

/// `DELETE /webhooks/{webhook_id}`
pub async fn remove(
    operator: Operator,
    path: web::Path<String>,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let turn = state.operator.take().await;
    let webhook = find_webhook(&state, &path)?;
    let mut writes = state.store.remove_webhook(&webhook);
    let line = line(&state, &operator, Action::WebhookDelete, &webhook);
    writes.push(
        state
            .store
            .add_audit(&to_audit_entry(line, Some(facts(&webhook)), None)),
    );
    state.commit(Change::in_turn(turn, writes)).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// `POST /webhooks/{webhook_id}/rotate-secret`
pub async fn rotate(
    operator: Operator,
    path: web::Path<String>,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let turn = state.operator.take().await;
    let webhook = find_webhook(&state, &path)?;
    let secret = state
        .vault
        .seal(webhook.id, &Secret::from_random(rand::random()));
    let rotated = webhook.rotate(secret, state.now());
    let mut writes = state.store.put_webhook(&rotated);
    let line = line(&state, &operator, Action::WebhookRotateSecret, &rotated);
    let (before, after) = (facts(&webhook), facts(&rotated));
    writes.push(
        state
            .store
            .add_audit(&to_audit_entry(line, Some(before), Some(after))),
    );
    state.commit(Change::in_turn(turn, writes)).await?;
    Ok(HttpResponse::Ok().json(view(&state, rotated)?))
}

/// `POST /webhooks/{webhook_id}/test`: a delivery that says it is a test.
pub async fn test(
    operator: Operator,
    path: web::Path<String>,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let webhook = find_webhook(&state, &path)?;
    let now = state.now();
    let id = state.system.accounts().context().ids.next(now);
    // One id for both, as for a job's event: so a delivery is found by the job that it names.
    let (id, job) = (DeliveryId(id), JobId(id));
    let delivery = Delivery::new(id, &webhook, DeliveryKind::Test, job, now);
    let (reply, answer) = oneshot::channel();
    let line = line(&state, &operator, Action::WebhookTest, &webhook);
    let audit = to_audit_entry(line, None, Some(super::deliveries::facts(&delivery)));
    let command = DeliveryCommand::Add {
        delivery,
        audit: Some(audit),
        reply,
    };
    state
        .system
        .deliveries()
        .try_send(command)
        .map_err(|_| error::busy_delivering())?;
    let delivery = answer.await.map_err(|_| error::stopping())??;
    Ok(HttpResponse::Accepted().json(DeliveryView::new(delivery, Vec::new())))
}

/// The webhook of a path.
pub(super) fn find_webhook(state: &AppState, id: &str) -> Result<Webhook, Problem> {
    let id: WebhookId = id.parse().map_err(|_| no_webhook())?;
    state.store.find_webhook(id)?.ok_or_else(no_webhook)
}

/// One text for an unknown id and for no id at all.
pub(super) fn no_webhook() -> Problem {
    Problem::new(Code::NotFound, "there is no such webhook")
}
