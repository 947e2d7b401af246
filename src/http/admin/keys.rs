//! API keys: made, listed, changed, removed.

use super::accounts::{find, read_name};
use super::paging::{Listing, Window};
use crate::http::auth::Operator;
use crate::http::body;
use crate::http::problem::{Code, Problem};
use crate::http::state::AppState;
use crate::http::wire::fields::{Fields, kind};
use actix_web::{HttpRequest, HttpResponse, web};
use serde::Serialize;
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::api_key::{self, ApiKey, KeyHash, RateLimit};
use tintype_storage::domain::ids::{AccountId, KeyId};
use tintype_storage::domain::tier::Tier;
use tintype_storage::domain::time::Timestamp;

const FIELDS: &[&str] = &[
    "name",
    "models",
    "active",
    "expires_at",
    "spend_limit",
    "rate_limit",
];

#[derive(Serialize)]
struct KeyView {
    key_id: String,
    account_id: String,
    /// Shown once, when the key is made.
    #[serde(skip_serializing_if = "Option::is_none")]
    api_key: Option<String>,
    name: String,
    models: Vec<&'static str>,
    active: bool,
    expires_at: Option<String>,
    spend_limit: Option<String>,
    spent: String,
    rate_limit: Option<RateView>,
    created_at: String,
}

#[derive(Serialize)]
struct RateView {
    per_second: u32,
    burst: u32,
}

impl KeyView {
    fn new(key: ApiKey, spent: Amount, api_key: Option<String>) -> Self {
        Self {
            key_id: key.id.to_string(),
            account_id: key.account.to_string(),
            api_key,
            models: Tier::ALL
                .iter()
                .filter(|tier| key.allows(**tier))
                .map(|tier| tier.word())
                .collect(),
            active: key.active,
            expires_at: key.expires_at.map(|at| at.to_string()),
            spend_limit: key.spend_limit.map(|limit| limit.to_string()),
            spent: spent.to_string(),
            rate_limit: key.rate_limit.map(|rate| RateView {
                per_second: rate.per_second,
                burst: rate.burst,
            }),
            created_at: key.created_at.to_string(),
            name: key.name,
        }
    }
}

/// What a body says of a key. An outer `None` is a field that was not sent; an inner one is `null`.
#[derive(Default)]
struct KeyChange {
    name: Option<String>,
    active: Option<bool>,
    models: Option<Option<Vec<Tier>>>,
    expires_at: Option<Option<Timestamp>>,
    spend_limit: Option<Option<Amount>>,
    rate_limit: Option<Option<RateLimit>>,
}

impl KeyChange {
    fn read(body: &[u8], name_required: bool) -> Result<Self, Problem> {
        let mut fields = Fields::parse(body).map_err(Problem::validation)?;
        let name = if name_required {
            fields.required_string("name")
        } else {
            fields.optional_string("name")
        };
        let change = Self {
            name: read_name(&mut fields, name),
            active: fields.optional_bool("active"),
            models: nullable(&mut fields, "models", models),
            expires_at: nullable(&mut fields, "expires_at", |fields| {
                fields.optional_time("expires_at")
            }),
            spend_limit: nullable(&mut fields, "spend_limit", spend_limit),
            rate_limit: nullable(&mut fields, "rate_limit", rate_limit),
        };
        fields.finish(FIELDS).map_err(Problem::validation)?;
        Ok(change)
    }

    fn apply(self, key: ApiKey) -> ApiKey {
        ApiKey {
            name: self.name.unwrap_or(key.name),
            active: self.active.unwrap_or(key.active),
            models: self.models.unwrap_or(key.models),
            expires_at: self.expires_at.unwrap_or(key.expires_at),
            spend_limit: self.spend_limit.unwrap_or(key.spend_limit),
            rate_limit: self.rate_limit.unwrap_or(key.rate_limit),
            ..key
        }
    }
}

/// Tells a field that was not sent from one that is `null`.
fn nullable<'a, T>(
    fields: &mut Fields<'a>,
    name: &str,
    read: impl FnOnce(&mut Fields<'a>) -> Option<T>,
) -> Option<Option<T>> {
    fields.has(name).then(|| read(fields))
}

fn models(fields: &mut Fields<'_>) -> Option<Vec<Tier>> {
    let words = fields.optional_strings("models")?;
    let mut models = Vec::new();
    for (at, word) in words.iter().enumerate() {
        match word.parse::<Tier>() {
            Ok(tier) if !models.contains(&tier) => models.push(tier),
            Ok(_) => {}
            Err(_) => fields.fault(format!("models[{at}]"), "must be one of fast, quality, pro"),
        }
    }
    if words.is_empty() {
        fields.fault(
            "models",
            "must name at least one model; leave it out, or send null, for all",
        );
    }
    Some(models)
}

fn spend_limit(fields: &mut Fields<'_>) -> Option<Amount> {
    let limit = fields.optional_amount("spend_limit")?;
    if limit.is_negative() {
        fields.fault("spend_limit", "must not be negative");
    }
    Some(limit)
}

fn rate_limit(fields: &mut Fields<'_>) -> Option<RateLimit> {
    let raw = fields.optional("rate_limit")?;
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Wire {
        per_second: u32,
        burst: u32,
    }
    match serde_json::from_str::<Wire>(raw.get()) {
        Ok(Wire {
            per_second: per_second @ 1..=1_000_000,
            burst: burst @ 1..=1_000_000,
        }) => Some(RateLimit { per_second, burst }),
        _ => {
            let message = format!(
                "must be an object {{\"per_second\": 5, \"burst\": 10}} with numbers from 1 to 1,000,000, not {}",
                kind(raw)
            );
            fields.fault("rate_limit", message);
            None
        }
    }
}

/// `POST /accounts/{account_id}/keys`
pub async fn create(
    _: Operator,
    path: web::Path<String>,
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let account = find(&state, &path)?;
    let body = body::read_json(&request, payload, &state).await?;
    let change = KeyChange::read(&body, true)?;
    let (text, key) = issue(&state, account.id, |key| change.apply(key)).await?;
    Ok(HttpResponse::Created().json(KeyView::new(key, Amount::ZERO, Some(text))))
}

/// Makes a key with all rights and lets `shape` narrow it. Returns its text, which is kept nowhere.
pub async fn issue(
    state: &AppState,
    account: AccountId,
    shape: impl FnOnce(ApiKey) -> ApiKey,
) -> Result<(String, ApiKey), Problem> {
    let now = state.now();
    let text = api_key::text(&rand::random());
    let key = shape(ApiKey {
        id: KeyId(state.system.accounts().context().ids.next(now)),
        account,
        name: String::new(),
        models: None,
        active: true,
        expires_at: None,
        spend_limit: None,
        rate_limit: None,
        created_at: now,
    });
    state
        .commit(state.store.put_key(&api_key::hash(&text), &key))
        .await?;
    Ok((text, key))
}

/// `GET /accounts/{account_id}/keys`
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
        .keys_of(account.id, window.limit, window.after)?;
    let spent = page
        .items
        .iter()
        .map(|key| state.store.key_spent(key.id))
        .collect::<Result<Vec<_>, _>>()?;
    let mut spent = spent.into_iter();
    Ok(HttpResponse::Ok().json(Listing::new(page, |key| {
        KeyView::new(key, spent.next().unwrap_or_default(), None)
    })))
}

/// `PATCH /keys/{key_id}`
pub async fn change(
    _: Operator,
    path: web::Path<String>,
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    find_key(&state, &path)?;
    let body = body::read_json(&request, payload, &state).await?;
    let change = KeyChange::read(&body, false)?;
    let _operator = state.operator.lock().await;
    let (hash, key) = find_key(&state, &path)?;
    let key = change.apply(key);
    state.commit(state.store.put_key(&hash, &key)).await?;
    state.key_ring.forget(&hash);
    let spent = state.store.key_spent(key.id)?;
    Ok(HttpResponse::Ok().json(KeyView::new(key, spent, None)))
}

/// `DELETE /keys/{key_id}`
pub async fn remove(
    _: Operator,
    path: web::Path<String>,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let _operator = state.operator.lock().await;
    let (_, key) = find_key(&state, &path)?;
    withdraw(&state, &key).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Removes a key, if it is still there.
pub async fn withdraw(state: &AppState, key: &ApiKey) -> Result<(), Problem> {
    if let Some((hash, key)) = state.store.key(key.id)? {
        state.commit(state.store.remove_key(&hash, &key)).await?;
        state.key_ring.forget(&hash);
    }
    Ok(())
}

fn find_key(state: &AppState, id: &str) -> Result<(KeyHash, ApiKey), Problem> {
    let missing = || Problem::new(Code::NotFound, "there is no such key");
    let id: KeyId = id.parse().map_err(|_| missing())?;
    state.store.key(id)?.ok_or_else(missing)
}
