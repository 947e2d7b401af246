//! An account, its ledger and its jobs, as its pages show them.

use super::guard::OfAccount;
use crate::api::account::AccountView;
use crate::api::job_record::JobRecord;
use crate::api::transaction::EntryView;
use crate::application::state::AppState;
use crate::http::admin::jobs;
use crate::http::job_list::{self, Asked};
use crate::http::jobs::not_found;
use crate::web::paging::Listing;
use crate::web::problem::Problem;
use crate::web::transaction_list;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use serde::Serialize;
use tintype_storage::domain::ids::JobId;

type Answer = Result<HttpResponse, Problem>;

pub async fn show(of: OfAccount) -> Answer {
    Ok(HttpResponse::Ok().json(AccountView::from(of.account)))
}

pub async fn transactions(of: OfAccount, request: HttpRequest, state: Data<AppState>) -> Answer {
    let page = transaction_list::page(&request, &state, of.account.id).await?;
    Ok(HttpResponse::Ok().json(Listing::new(page, EntryView::from)))
}

pub async fn list_jobs(of: OfAccount, request: HttpRequest, state: Data<AppState>) -> Answer {
    let asked = Asked::of(&request)?;
    let (found, next) = job_list::page(&state, of.account.id, &asked).await?;
    let mut data = Vec::with_capacity(found.len());
    for job in &found {
        data.push(JobRecord::listed(&state, job).await?);
    }
    let next = next.map(|id| *id.as_bytes());
    Ok(HttpResponse::Ok().json(Listing::of(data, next)))
}

fn job_id(of: &OfAccount, request: &HttpRequest) -> Result<JobId, Problem> {
    of.part(request, "job_id").parse().map_err(|_| not_found())
}

pub async fn show_job(of: OfAccount, request: HttpRequest, state: Data<AppState>) -> Answer {
    let id = job_id(&of, &request)?;
    let job = state.store.job(of.account.id, id)?.ok_or_else(not_found)?;
    Ok(HttpResponse::Ok().json(Running {
        record: JobRecord::looked_up(&state, &job).await?,
        progress: state.system.progress(id),
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
    let id = job_id(&of, &request)?;
    let job = jobs::cancel_noted(&state, &of.operator(), of.account.id, id).await?;
    Ok(HttpResponse::Ok().json(JobRecord::looked_up(&state, &job).await?))
}
