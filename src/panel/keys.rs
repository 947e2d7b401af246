//! The keys of an account, as its pages list and change them.

use super::charts;
use super::guard::OfAccount;
use crate::api::answers;
use crate::api::requests::{read, read_optional, read_requiring};
use crate::application::api_keys;
use crate::application::error;
use crate::application::state::AppState;
use crate::web::body;
use crate::web::paging::{self, try_listing};
use crate::web::problem::Problem;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::json;
use tintype_api::Rotation;
use tintype_storage::domain::api_key::KeyChange;

type Answer = Result<HttpResponse, Problem>;

pub async fn list(of: OfAccount, request: HttpRequest, state: Data<AppState>) -> Answer {
    let window = paging::window(&request)?;
    let store = &state.store;
    let page = store.keys_of(of.account.id, window.limit, window.after)?;
    let view = |key| answers::api_key(&state, key, None);
    Ok(HttpResponse::Ok().json(try_listing(page, view)?))
}

pub async fn create(
    of: OfAccount,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> Answer {
    let body = body::read_json(&request, payload, &state).await?;
    let change: KeyChange = read_requiring(&body, &["name"])?;
    let (account, shape) = (of.account.id, |key| change.apply(key));
    let turn = state.operator.take().await;
    let issued = api_keys::issue(
        &state,
        turn,
        &of.context,
        account,
        shape,
        api_keys::no_writes,
    );
    let (text, key) = issued.await?;
    Ok(HttpResponse::Created().json(answers::api_key(&state, key, Some(text))?))
}

/// With what its jobs came to day by day.
pub async fn show(of: OfAccount, request: HttpRequest, state: Data<AppState>) -> Answer {
    let days = charts::asked(&request)?;
    let key = of.key(&request, &state)?;
    let (shared, account, id) = (state.clone(), of.account.id, key.id);
    let days = web::block(move || charts::days(&shared, account, Some(id), days)).await;
    let days = days.map_err(|_| error::busy())??;
    let mut view = json!(answers::api_key(&state, key, None)?);
    view["days"] = json!(days);
    Ok(HttpResponse::Ok().json(view))
}

pub async fn change(
    of: OfAccount,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> Answer {
    let key = of.key(&request, &state)?;
    let body = body::read_json(&request, payload, &state).await?;
    let change = read(&body)?;
    let key = api_keys::change(&state, &of.context, key.id, change).await?;
    Ok(HttpResponse::Ok().json(answers::api_key(&state, key, None)?))
}

pub async fn rotate(
    of: OfAccount,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> Answer {
    let key = of.key(&request, &state)?;
    let body = body::read_optional_json(&request, payload, &state).await?;
    let rotation: Rotation = read_optional(body.as_deref())?;
    let (text, key) = api_keys::rotate(&state, &of.context, key.id, rotation.overlap()).await?;
    Ok(HttpResponse::Ok().json(answers::api_key(&state, key, Some(text))?))
}

pub async fn remove(of: OfAccount, request: HttpRequest, state: Data<AppState>) -> Answer {
    let key = of.key(&request, &state)?;
    match api_keys::delete(&state, &of.context, key.id).await? {
        true => Ok(HttpResponse::NoContent().finish()),
        false => Err(api_keys::no_key().into()),
    }
}
