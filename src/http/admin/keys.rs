//! API keys: made, listed, changed, rotated, removed.

use super::accounts::find;
use super::key_body::KeyChange;
use super::key_view::{KeyView, facts};
use crate::api::fields::Fields;
use crate::application::audit_context::{AuditContext, Subject, to_audit_entry};
use crate::application::commit::{Change, Turn};
use crate::application::state::AppState;
use crate::web::auth::Operator;
use crate::web::body;
use crate::web::paging::{Listing, Window};
use crate::web::problem::{Code, Problem};
use actix_web::{HttpRequest, HttpResponse, web};
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::api_key::{self, ApiKey, KeyHash};
use tintype_storage::domain::audit_log::{Action, AuditEntry};
use tintype_storage::domain::ids::{AccountId, KeyId};
use tintype_storage::store::Writes;

/// Hours that the old text of a rotated key is valid, unless asked otherwise.
pub const DEFAULT_OVERLAP_HOURS: u64 = 24;
/// The most that can be asked for.
pub const MAX_OVERLAP_HOURS: u64 = 24 * 30;
/// The fields of a rotation.
pub const ROTATION: &[&str] = &["overlap_hours"];
/// Earlier texts of one key that may be valid at once.
const MAX_RETIRED: usize = 8;

/// `POST /accounts/{account_id}/keys`
pub async fn create(
    operator: Operator,
    path: web::Path<String>,
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let account = find(&state, &path)?;
    let body = body::read_json(&request, payload, &state).await?;
    let change = KeyChange::read(&body, true)?;
    let shape = |key| change.apply(key);
    let turn = state.operator.take().await;
    let author = &operator.author;
    let (text, key) = issue(&state, turn, author, account.id, shape, nothing).await?;
    Ok(HttpResponse::Created().json(KeyView::new(&state, key, Some(text))?))
}

/// No more writes than those of the key.
pub fn nothing(_: &ApiKey) -> Writes {
    Writes::new()
}

/// Makes a key with all rights and lets `shape` narrow it; `also` are writes of the same commit. Returns its text, which is
/// kept nowhere.
pub async fn issue(
    state: &AppState,
    turn: Turn,
    author: &AuditContext,
    account: AccountId,
    shape: impl FnOnce(ApiKey) -> ApiKey,
    also: impl FnOnce(&ApiKey) -> Writes,
) -> Result<(String, ApiKey), Problem> {
    let now = state.now();
    let text = api_key::text(&rand::random());
    let key = shape(ApiKey::with_all_rights(
        KeyId(state.system.accounts().context().ids.next(now)),
        account,
        now,
    ));
    let mut writes = state.store.put_key(&api_key::hash(&text), &key);
    writes.extend(also(&key));
    let line = to_audit_entry(
        line(state, author, Action::KeyCreate, &key),
        None,
        Some(facts(&key, now)),
    );
    writes.push(state.store.add_audit(&line));
    state.commit(Change::in_turn(turn, writes)).await?;
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
    let list = Listing::try_new(page, |key| KeyView::new(&state, key, None))?;
    Ok(HttpResponse::Ok().json(list))
}

/// `GET /keys/{key_id}`
pub async fn show(
    _: Operator,
    path: web::Path<String>,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let (_, key) = find_key(&state, &path)?;
    Ok(HttpResponse::Ok().json(KeyView::new(&state, key, None)?))
}

/// `PATCH /keys/{key_id}`
pub async fn change(
    operator: Operator,
    path: web::Path<String>,
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    find_key(&state, &path)?;
    let body = body::read_json(&request, payload, &state).await?;
    let change = KeyChange::read(&body, false)?;
    let turn = state.operator.take().await;
    let (hash, before) = find_key(&state, &path)?;
    let key = change.apply(before.clone());
    if key != before {
        let now = state.now();
        let line = to_audit_entry(
            line(&state, &operator.author, Action::KeyChange, &key),
            Some(facts(&before, now)),
            Some(facts(&key, now)),
        );
        let mut writes = state.store.put_key(&hash, &key);
        writes.push(state.store.add_audit(&line));
        let ring = Arc::clone(&state.key_ring);
        let after = Some((hash, key.clone()));
        let gone = before.clone();
        let change = Change::in_turn(turn, writes).then(move || ring.forget(&hash, &gone));
        state.commit_key(&before, after, change).await?;
    }
    Ok(HttpResponse::Ok().json(KeyView::new(&state, key, None)?))
}

/// `POST /keys/{key_id}/rotate`: a new text for the same key. The old one is valid for some hours yet.
pub async fn rotate(
    operator: Operator,
    path: web::Path<String>,
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    find_key(&state, &path)?;
    let hours = read_overlap(&request, payload, &state).await?;
    let turn = state.operator.take().await;
    let (old, before) = find_key(&state, &path)?;
    let now = state.now();
    let overlap = Duration::from_secs(hours * 3_600);
    let until = (hours > 0).then(|| now.plus(overlap));
    let (key, ended) = before.rotate(old, until, now);
    if key.retired.len() > MAX_RETIRED {
        let detail = format!(
            "{MAX_RETIRED} earlier texts of this key are still valid; wait for one to end, or rotate with overlap_hours 0, which ends them all"
        );
        return Err(Problem::new(Code::Conflict, detail));
    }
    let text = api_key::text(&rand::random());
    let line = to_audit_entry(
        line(&state, &operator.author, Action::KeyRotate, &key),
        Some(facts(&before, now)),
        Some(facts(&key, now)),
    );
    let new = api_key::hash(&text);
    let mut writes = state.store.rotate_key(&old, &new, &key, &ended);
    writes.push(state.store.add_audit(&line));
    let ring = Arc::clone(&state.key_ring);
    let after = Some((new, key.clone()));
    let gone = before.clone();
    let change = Change::in_turn(turn, writes).then(move || ring.forget(&old, &gone));
    state.commit_key(&before, after, change).await?;
    Ok(HttpResponse::Ok().json(KeyView::new(&state, key, Some(text))?))
}

/// A rotation needs no body.
async fn read_overlap(
    request: &HttpRequest,
    payload: web::Payload,
    state: &AppState,
) -> Result<u64, Problem> {
    let body = body::read_optional_json(request, payload, state).await?;
    let Some(body) = body else {
        return Ok(DEFAULT_OVERLAP_HOURS);
    };
    let mut fields = Fields::parse(&body).map_err(Problem::validation)?;
    let hours = fields
        .optional("overlap_hours")
        .map_or(Some(DEFAULT_OVERLAP_HOURS), |raw| {
            let read = raw.get().parse().ok();
            read.filter(|hours| (0..=MAX_OVERLAP_HOURS).contains(hours))
        });
    if hours.is_none() {
        let message = format!("must be a whole number from 0 to {MAX_OVERLAP_HOURS}");
        fields.fault("overlap_hours", message);
    }
    fields.finish(ROTATION).map_err(Problem::validation)?;
    Ok(hours.unwrap_or(DEFAULT_OVERLAP_HOURS))
}

/// `DELETE /keys/{key_id}`
pub async fn remove(
    operator: Operator,
    path: web::Path<String>,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let (_, key) = find_key(&state, &path)?;
    match withdraw(&state, &operator.author, key.id).await? {
        true => Ok(HttpResponse::NoContent().finish()),
        false => Err(no_key()),
    }
}

/// Removes a key; says whether it was still there.
pub async fn withdraw(state: &AppState, author: &AuditContext, id: KeyId) -> Result<bool, Problem> {
    let turn = state.operator.take().await;
    let Some((hash, key)) = state.store.key(id)? else {
        return Ok(false);
    };
    let line = to_audit_entry(
        line(state, author, Action::KeyDelete, &key),
        Some(facts(&key, state.now())),
        None,
    );
    let mut writes = state.store.remove_key(&hash, &key);
    writes.push(state.store.add_audit(&line));
    let ring = Arc::clone(&state.key_ring);
    let gone = key.clone();
    let change = Change::in_turn(turn, writes).then(move || {
        ring.forget(&hash, &gone);
        ring.forget_use(id);
    });
    state.commit_key(&key, None, change).await?;
    Ok(true)
}

fn line(state: &AppState, author: &AuditContext, action: Action, key: &ApiKey) -> AuditEntry {
    let subject = Subject {
        account: Some(key.account),
        id: Some(key.id.0),
    };
    author.line(state, action, subject)
}

/// The key of a path, with its hash.
pub fn find_key(state: &AppState, id: &str) -> Result<(KeyHash, ApiKey), Problem> {
    let id: KeyId = id.parse().map_err(|_| no_key())?;
    state.store.key(id)?.ok_or_else(no_key)
}

/// One text for an unknown id and for no id at all.
fn no_key() -> Problem {
    Problem::new(Code::NotFound, "there is no such key")
}
