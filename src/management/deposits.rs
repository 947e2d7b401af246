//! Deposits money into an account, and corrects deposits.

use crate::api::requests::read_once;
use crate::application::deposits;
use crate::application::services::AccountService;
use crate::web::access::{OfAccount, OfOperator};
use crate::web::body;
use crate::web::idempotency_key::{self, creation_response};
use crate::web::problem::HttpResult;
use actix_web::{HttpRequest, web};

/// `POST /accounts/{account_id}/deposits`
pub async fn create(
    OfOperator { caller, named: of }: OfOperator<OfAccount>,
    request: HttpRequest,
    payload: web::Payload,
    accounts: web::Data<AccountService>,
) -> HttpResult {
    let body = body::read_json(&request, payload, &accounts.settings).await?;
    let (new, key) = read_once(&body, idempotency_key::key(request.headers()))?;
    let deposited = deposits::deposit(&accounts.core, &caller, of.account.id, new, key).await?;
    Ok(
        creation_response(deposited.is_replay)
            .json(tintype_api::Transaction::from(deposited.entry)),
    )
}
