//! Batches: list, show, cancel, submit from a file, and download.

use super::{batch_images, payer};
use crate::api::batch_form::{self, Form};
use crate::api::batch_table::{self, Lines, TableFault};
use crate::api::job_views::JobViews;
use crate::api::responses;
use crate::application::caller::check_active;
use crate::application::core::Core;
use crate::application::error::{Error, ErrorKind};
use crate::application::jobs::batches::{self, BatchWithProgress};
use crate::application::jobs::filter::JobFilter;
use crate::application::services::{AccountService, GenerationService, JobService};
use crate::application::submission::load_shedding;
use crate::objects::FAULT_TARGET;
use crate::request_text::{self, RequestTextError};
use crate::web::auth::access::{OfAccount, path_segment};
use crate::web::problem::{FieldFault, HttpResult, Problem};
use crate::web::queries::job_query;
use crate::web::queries::paging::{self, Page};
use crate::web::submissions::batch_call::{self, MAX_BODY_BYTES, ReservedBody};
use crate::web::submissions::batch_lines;
use actix_web::http::header;
use actix_web::web::Data;
use actix_web::{HttpMessage as _, HttpRequest, HttpResponse, web};
use futures_util::future::try_join_all;
use serde::Serialize;
use serde_json::value::RawValue;
use tintype_api::{Batch, Delivery};
use tintype_storage::domain::batch_member::InputUrls;
use tintype_storage::domain::delivery::DeliveryId;
use tintype_storage::domain::job::{Job, JobState};
use tintype_storage::domain::tier::{Mode, Tier};
use tintype_storage::json;

async fn find(
    of: &OfAccount,
    request: &HttpRequest,
    core: &Core,
) -> Result<BatchWithProgress, Problem> {
    Ok(batches::find(core, of.account.id, path_segment(request, "batch_id")).await?)
}

#[derive(Serialize)]
struct ListedBatch {
    #[serde(flatten)]
    batch: Batch,
    is_canceled: bool,
}

pub async fn list(of: OfAccount, request: HttpRequest, jobs: Data<JobService>) -> HttpResult {
    let window = paging::window(&request)?;
    let page = batches::page_of(&jobs.core, of.account.id, window).await?;
    let canceled = page.items.iter().map(|(_, it)| it.canceled_at.is_some());
    let canceled: Vec<bool> = canceled.collect();
    let page = responses::batches(&jobs, page).await;
    let batches = page.data.into_iter().zip(canceled);
    Ok(HttpResponse::Ok().json(Page {
        data: batches
            .map(|(batch, is_canceled)| ListedBatch { batch, is_canceled })
            .collect(),
        next_cursor: page.next_cursor,
    }))
}

#[derive(Serialize)]
struct BatchWithDelivery {
    #[serde(flatten)]
    batch: Batch,
    is_canceled: bool,
    /// `None` before the batch ends, and if no webhook was registered when it ended.
    delivery: Option<Delivery>,
}

pub async fn show(of: OfAccount, request: HttpRequest, jobs: Data<JobService>) -> HttpResult {
    let core = &jobs.core;
    let found = find(&of, &request, core).await?;
    // A delivery has the id of its job or batch.
    let delivery = core.store.delivery(DeliveryId(found.0.id.0)).await?;
    Ok(HttpResponse::Ok().json(BatchWithDelivery {
        batch: responses::batch(&jobs, &found).await,
        is_canceled: found.1.canceled_at.is_some(),
        delivery: match delivery {
            Some(delivery) => Some(responses::delivery(core, delivery).await?),
            None => None,
        },
    }))
}

/// In the order of the requests, because people compare the list with their file.
pub async fn list_jobs(of: OfAccount, request: HttpRequest, jobs: Data<JobService>) -> HttpResult {
    let (batch, _) = find(&of, &request, &jobs.core).await?;
    let mut filter = JobFilter::default();
    let window = paging::filtered_window(&request, &["status"], |name, value| {
        job_query::read(&mut filter, name, value)
    })?;
    let page = batches::page_of_jobs(&jobs.core, batch, window, filter).await?;
    let views = JobViews::of(&jobs);
    let listed = page.items.iter().map(|job| views.listed(job));
    let data = try_join_all(listed).await?;
    Ok(HttpResponse::Ok().json(Page::of(data, page.next)))
}

/// Cancels the queued jobs.
pub async fn cancel(of: OfAccount, request: HttpRequest, jobs: Data<JobService>) -> HttpResult {
    let (batch, _) = find(&of, &request, &jobs.core).await?;
    let canceled = batches::cancel(&jobs, &of.caller, batch).await?;
    Ok(HttpResponse::Ok().json(responses::batch(&jobs, &canceled).await))
}

/// The body is the file, CSV if its type is `text/csv`. With `?dry_run=true` the file is only checked.
pub async fn create(
    of: OfAccount,
    request: HttpRequest,
    payload: web::Payload,
    accounts: Data<AccountService>,
    generations: Data<GenerationService>,
    jobs: Data<JobService>,
) -> HttpResult {
    check_active(&of.account)?;
    let payer = payer::for_account(&accounts, &of).await?;
    let submitted = async {
        load_shedding::check(&generations, payer.account()).await?;
        let is_table = request.content_type().eq_ignore_ascii_case("text/csv");
        let extra = match is_table {
            true => MAX_BODY_BYTES as u64,
            false => 0,
        };
        let account = of.account.id;
        let file = batch_call::receive(&request, payload, &generations, account, extra).await?;
        let length = file.bytes.len();
        if !is_table {
            let form = |bytes: &[u8]| {
                let form = batch_form::detect(bytes);
                form.map_err(|fault| Error::field("body", fault.to_string()))
            };
            let parsed = batch_call::parse(&generations, account, file, form).await?;
            return batch_call::submit(&jobs, &generations, &payer, &request, parsed).await;
        }
        let read = move || {
            let lines = batch_table::lines(&file.bytes, MAX_BODY_BYTES).map_err(table_error)?;
            Ok((lines, file.memory))
        };
        let (Lines { text, line_numbers }, memory) = batch_call::off_thread(length, read).await?;
        let bytes = text.into();
        let body = ReservedBody { bytes, memory };
        let form = move |_: &[u8]| Ok(Form::Table(line_numbers));
        let parsed = batch_call::parse(&generations, account, body, form).await?;
        batch_call::submit(&jobs, &generations, &payer, &request, parsed).await
    };
    submitted
        .await
        .map_err(|problem: Problem| payer::explain_rejection(&payer, problem))
}

/// The errors of a malformed table, by line.
fn table_error(faults: Vec<TableFault>) -> Error {
    let fault = |fault: TableFault| {
        let field = match fault.line {
            Some(line) => format!("line {line}"),
            None => "file".to_owned(),
        };
        FieldFault::new(field, fault.message)
    };
    Error::invalid(faults.into_iter().map(fault).collect())
}

/// One JSON line per request.
pub async fn results(of: OfAccount, request: HttpRequest, jobs: Data<JobService>) -> HttpResult {
    let (batch, _) = find(&of, &request, &jobs.core).await?;
    let name = format!("batch-{}.jsonl", batch.id);
    let response = batch_lines::results(&request, jobs, batch);
    Ok(as_attachment(response, &name))
}

/// The failed requests, ready to be submitted again. With `?formats=true` the panel learns which of
/// them asked for a file format: requests of the native interface cannot.
pub async fn failed_jobs(
    of: OfAccount,
    request: HttpRequest,
    jobs: Data<JobService>,
) -> HttpResult {
    let (batch, _) = find(&of, &request, &jobs.core).await?;
    let name = format!("batch-{}-failed.jsonl", batch.id);
    let with_format = request.query_string() == "formats=true";
    let line = async move |jobs: &JobService, job: &Job| match job.state {
        JobState::Failed { .. } => request_line(jobs, job, with_format).await.map(Some),
        _ => Ok(None),
    };
    let response = batch_lines::respond(&request, jobs, batch, line);
    Ok(as_attachment(response, &name))
}

/// The images as a ZIP archive.
pub async fn images(of: OfAccount, request: HttpRequest, jobs: Data<JobService>) -> HttpResult {
    let (batch, _) = find(&of, &request, &jobs.core).await?;
    let name = format!("batch-{}.zip", batch.id);
    let response = batch_images::respond(jobs, batch);
    Ok(as_attachment(response, &name))
}

fn as_attachment(mut response: HttpResponse, name: &str) -> HttpResponse {
    let disposition = format!("attachment; filename=\"{name}\"");
    // An id and a file extension always form a valid header.
    if let Ok(value) = header::HeaderValue::from_str(&disposition) {
        response
            .headers_mut()
            .insert(header::CONTENT_DISPOSITION, value);
    }
    response
}

/// A request in the input format of batches.
#[derive(Serialize)]
struct RequestLine<'a> {
    custom_id: String,
    model: &'a str,
    /// `None` if its object was deleted from the object store.
    prompt: Option<&'a str>,
    aspect_ratio: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    resolution: Option<&'a str>,
    /// `None` for text-to-image. Empty if their object was deleted: such a request is refused, because without the images it would be
    /// another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    input_images_urls: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a RawValue>,
    /// The last member, which the panel removes.
    #[serde(skip_serializing_if = "Option::is_none")]
    output_format: Option<String>,
}

/// The URLs of the input images of a batch's job. Empty if their object was deleted from the object store.
pub(super) async fn input_urls(
    jobs: &JobService,
    job: &Job,
) -> Result<Vec<String>, RequestTextError> {
    match job.member().map(|it| &it.input_urls) {
        None => Ok(Vec::new()),
        Some(InputUrls::Inline(urls)) => Ok(urls.clone()),
        Some(InputUrls::Stored(key)) => match request_text::load_urls(&jobs.objects, key).await {
            Err(error) if error.is_gone() => Ok(Vec::new()),
            loaded => loaded,
        },
    }
}

async fn request_line(jobs: &JobService, job: &Job, with_format: bool) -> Result<Vec<u8>, Error> {
    let unreadable = |error: RequestTextError| {
        tracing::error!(target: FAULT_TARGET, job = %job.id, %error, "could not read the prompt or the input URLs of a job");
        let detail = "a request of the batch could not be read from the object store; try again";
        Error::new(ErrorKind::StorageUnavailable, detail)
    };
    let text = request_text::resolve(&jobs.objects, &job.prompt).await;
    let text = text.map_err(unreadable)?;
    let metadata = text.as_ref().and_then(|it| it.metadata.as_deref());
    let urls = match job.mode {
        Mode::TextToImage => None,
        Mode::ImageToImage => Some(input_urls(jobs, job).await.map_err(unreadable)?),
    };
    let format = job.options().output.filter(|_| with_format);
    let line = RequestLine {
        custom_id: job.member().map(|it| it.custom_id()).unwrap_or_default(),
        model: job.tier.as_str(),
        prompt: text.as_ref().map(|it| it.prompt.as_str()),
        aspect_ratio: job.aspect.to_string(),
        // The fast model has one size and rejects this field.
        resolution: (job.tier != Tier::Fast).then(|| job.resolution.as_str()),
        input_images_urls: urls,
        // Stored metadata is valid JSON.
        metadata: metadata.and_then(|it| serde_json::from_str(it).ok()),
        output_format: format.map(|it| it.to_string()),
    };
    Ok(json::to_bytes(&line))
}
