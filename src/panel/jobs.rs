//! The jobs of an account, as its pages show them.

use crate::api::answers;
use crate::application::job_list;
use crate::application::jobs;
use crate::application::state::AppState;
use crate::web::access::{OfAccount, part};
use crate::web::job_query;
use crate::web::paging::Listing;
use crate::web::problem::Problem;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use serde::Serialize;
use tintype_api::JobRecord;
use tintype_storage::domain::job::Job;

type Answer = Result<HttpResponse, Problem>;

pub async fn list_jobs(of: OfAccount, request: HttpRequest, state: Data<AppState>) -> Answer {
    let (window, filter) = job_query::of(&request)?;
    let (found, next) = job_list::page_of(&state, of.account.id, window, &filter).await?;
    let mut data = Vec::with_capacity(found.len());
    for job in &found {
        data.push(answers::listed_job(&state, job).await?);
    }
    let next = next.map(|id| *id.as_bytes());
    Ok(HttpResponse::Ok().json(Listing::of(data, next)))
}

async fn find(of: &OfAccount, request: &HttpRequest, state: &AppState) -> Result<Job, Problem> {
    Ok(jobs::find(state, of.account.id, part(request, "job_id")).await?)
}

pub async fn show_job(of: OfAccount, request: HttpRequest, state: Data<AppState>) -> Answer {
    let job = find(&of, &request, &state).await?;
    Ok(HttpResponse::Ok().json(Running {
        record: answers::job_record(&state, &job).await?,
        progress: state.system.progress(job.id),
    }))
}

/// A job with how far its picture is. Written as it is, so that the caller's metadata keep their digits and their order.
#[derive(Serialize)]
struct Running<'a> {
    #[serde(flatten)]
    record: JobRecord<'a>,
    progress: Option<f32>,
}

pub async fn cancel(of: OfAccount, request: HttpRequest, state: Data<AppState>) -> Answer {
    let id = find(&of, &request, &state).await?.id;
    let job = jobs::cancel(&state, &of.caller, of.account.id, id).await?;
    Ok(HttpResponse::Ok().json(answers::job_record(&state, &job).await?))
}
