//! Creates, lists, changes, rotates and deletes API keys.

use crate::api::requests::{read, read_optional, read_requiring};
use crate::api::responses;
use crate::application::accounts::api_keys;
use crate::application::services::AccountService;
use crate::web::auth::access::{OfAccount, OfKey, WithBody};
use crate::web::body;
use crate::web::problem::HttpResult;
use crate::web::queries::paging;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use tintype_api::Rotation;
use tintype_storage::domain::api_key::KeyChange;

pub async fn create(
    WithBody(of, body): WithBody<OfAccount>,
    accounts: Data<AccountService>,
) -> HttpResult {
    let change: KeyChange = read_requiring(&body, &["name"])?;
    let created = api_keys::create(&accounts.core, &of.caller, of.account.id, change);
    let (text, key) = created.await?;
    Ok(HttpResponse::Created().json(responses::api_key(&accounts, key, Some(text)).await?))
}

pub async fn list(
    of: OfAccount,
    request: HttpRequest,
    accounts: Data<AccountService>,
) -> HttpResult {
    let window = paging::window(&request)?;
    let store = &accounts.core.store;
    let page = store
        .keys_of(of.account.id, window.limit, window.after)
        .await?;
    let keys = responses::api_keys(&accounts, of.account.id, page).await?;
    Ok(HttpResponse::Ok().json(keys))
}

pub async fn show(of: OfKey, accounts: Data<AccountService>) -> HttpResult {
    Ok(HttpResponse::Ok().json(responses::api_key(&accounts, of.key, None).await?))
}

pub async fn change(
    WithBody(of, body): WithBody<OfKey>,
    accounts: Data<AccountService>,
) -> HttpResult {
    let key = api_keys::change(&accounts, &of.caller, of.key.id, read(&body)?).await?;
    Ok(HttpResponse::Ok().json(responses::api_key(&accounts, key, None).await?))
}

/// Issues a new value for the key. The old value stays valid for some hours.
pub async fn rotate(
    of: OfKey,
    request: HttpRequest,
    payload: Payload,
    accounts: Data<AccountService>,
) -> HttpResult {
    let body = body::read_optional_json(&request, payload, &accounts.settings).await?;
    let rotation: Rotation = read_optional(body.as_deref())?;
    let rotated = api_keys::rotate(&accounts, &of.caller, of.key.id, rotation.overlap());
    let (text, key) = rotated.await?;
    Ok(HttpResponse::Ok().json(responses::api_key(&accounts, key, Some(text)).await?))
}

pub async fn remove(of: OfKey, accounts: Data<AccountService>) -> HttpResult {
    api_keys::delete(&accounts, &of.caller, of.key.id).await?;
    Ok(HttpResponse::NoContent().finish())
}
