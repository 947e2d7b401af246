//! Jobs of any account, with filters, and one of them with all that is on record.

use crate::api::answers;
use crate::application::jobs;
use crate::application::state::AppState;
use crate::management::jobs::take_account;
use crate::web::access::OperatorCall;
use crate::web::problem::Problem;
use crate::web::query;
use actix_web::{HttpRequest, HttpResponse, web};
use tintype_storage::domain::job::Job;

/// The job of a path, of whichever account. Looked for on the blocking pool: unless the query names the account, there may be
/// many to ask.
async fn find(
    id: &str,
    request: &HttpRequest,
    state: &web::Data<AppState>,
) -> Result<Job, Problem> {
    let id = jobs::read_id(id)?;
    let mut account = None;
    let named = query::value(request, "account_id");
    let fault = match named {
        Ok(Some(named)) => take_account(&mut account, &named),
        Ok(None) => None,
        Err(fault) => Some(fault),
    };
    if let Some(fault) = fault {
        return Err(Problem::validation(vec![fault]));
    }
    Ok(jobs::find_in_all(state, account, id).await?)
}

/// `DELETE /jobs/{job_id}`: cancels a job that is still queued, as the account itself can.
pub async fn cancel(
    OperatorCall(caller): OperatorCall,
    path: web::Path<String>,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let Job { id, account, .. } = find(&path, &request, &state).await?;
    let job = jobs::cancel(&state, &caller, account, id).await?;
    Ok(HttpResponse::Ok().json(answers::job_record(&state, &job).await?))
}

/// `GET /jobs/{job_id}`
pub async fn show(
    _: OperatorCall,
    path: web::Path<String>,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let job = find(&path, &request, &state).await?;
    let record = answers::job_record(&state, &job).await?;
    Ok(HttpResponse::Ok().json(answers::for_operator(&state, &job, record)))
}
