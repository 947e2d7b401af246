//! API keys: made, listed, changed, rotated, removed.

use super::accounts::find;
use crate::api::answers;
use crate::api::requests::{read, read_optional, read_requiring};
use crate::application::api_keys;
use crate::application::state::AppState;
use crate::web::auth::Operator;
use crate::web::body;
use crate::web::paging::{self, try_listing};
use crate::web::problem::Problem;
use actix_web::{HttpRequest, HttpResponse, web};
use tintype_api::Rotation;
use tintype_storage::domain::api_key::KeyChange;
use tintype_storage::domain::ids::KeyId;

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
    let change: KeyChange = read_requiring(&body, &["name"])?;
    let (context, shape) = (&operator.author, |key| change.apply(key));
    let turn = state.operator.take().await;
    let issued = api_keys::issue(
        &state,
        turn,
        context,
        account.id,
        shape,
        api_keys::no_writes,
    );
    let (text, key) = issued.await?;
    Ok(HttpResponse::Created().json(answers::api_key(&state, key, Some(text))?))
}

/// `GET /accounts/{account_id}/keys`
pub async fn list(
    _: Operator,
    path: web::Path<String>,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let account = find(&state, &path)?;
    let window = paging::window(&request)?;
    let page = state
        .store
        .keys_of(account.id, window.limit, window.after)?;
    let view = |key| answers::api_key(&state, key, None);
    Ok(HttpResponse::Ok().json(try_listing(page, view)?))
}

/// `GET /keys/{key_id}`
pub async fn show(
    _: Operator,
    path: web::Path<String>,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let (_, key) = api_keys::find(&state, id_of(&path)?)?;
    Ok(HttpResponse::Ok().json(answers::api_key(&state, key, None)?))
}

/// `PATCH /keys/{key_id}`
pub async fn change(
    operator: Operator,
    path: web::Path<String>,
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let id = id_of(&path)?;
    api_keys::find(&state, id)?;
    let body = body::read_json(&request, payload, &state).await?;
    let change = read(&body)?;
    let key = api_keys::change(&state, &operator.author, id, change).await?;
    Ok(HttpResponse::Ok().json(answers::api_key(&state, key, None)?))
}

/// `POST /keys/{key_id}/rotate`: a new text for the same key. The old one is valid for some hours yet.
pub async fn rotate(
    operator: Operator,
    path: web::Path<String>,
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let id = id_of(&path)?;
    api_keys::find(&state, id)?;
    let body = body::read_optional_json(&request, payload, &state).await?;
    let rotation: Rotation = read_optional(body.as_deref())?;
    let (text, key) = api_keys::rotate(&state, &operator.author, id, rotation.overlap()).await?;
    Ok(HttpResponse::Ok().json(answers::api_key(&state, key, Some(text))?))
}

/// `DELETE /keys/{key_id}`
pub async fn remove(
    operator: Operator,
    path: web::Path<String>,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    match api_keys::delete(&state, &operator.author, id_of(&path)?).await? {
        true => Ok(HttpResponse::NoContent().finish()),
        false => Err(api_keys::no_key().into()),
    }
}

fn id_of(path: &str) -> Result<KeyId, Problem> {
    Ok(path.parse().map_err(|_| api_keys::no_key())?)
}
