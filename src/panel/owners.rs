//! The account to which a job, batch or key belongs, for the operator: a link or a searched id does not name the account.

use crate::application::accounts;
use crate::application::core::Core;
use crate::application::jobs;
use crate::application::jobs::batches;
use crate::web::auth::access::{OfKey, OperatorCall, OperatorOnly};
use crate::web::problem::HttpResult;
use actix_web::HttpResponse;
use actix_web::web::{Data, Path};
use serde::Serialize;
use tintype_api::text::Id;
use tintype_storage::domain::ids::AccountId;

#[derive(Serialize)]
struct Owner {
    account_id: Id,
    name: String,
}

async fn respond(core: &Core, id: AccountId) -> HttpResult {
    let account = core.store.account(id).await?;
    let account = account.ok_or_else(accounts::no_account)?;
    Ok(HttpResponse::Ok().json(Owner {
        account_id: account.id.into(),
        name: account.name,
    }))
}

pub async fn of_job(_: OperatorCall, path: Path<String>, core: Data<Core>) -> HttpResult {
    let job = jobs::find_in_all(&core, None, jobs::read_id(&path)?).await?;
    respond(&core, job.account).await
}

pub async fn of_batch(_: OperatorCall, path: Path<String>, core: Data<Core>) -> HttpResult {
    let id = path.parse().map_err(|_| batches::no_batch())?;
    let batch = batches::find_in_all(&core, None, id).await?;
    respond(&core, batch.ok_or_else(batches::no_batch)?.account).await
}

pub async fn of_key(
    OperatorOnly { named, .. }: OperatorOnly<OfKey>,
    core: Data<Core>,
) -> HttpResult {
    respond(&core, named.key.account).await
}
