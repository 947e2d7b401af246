//! Batches: many requests in one call.

use super::{dry_run, long_poll};
use crate::api::answers;
use crate::api::batch::{self, Bounds, Form, Parsed};
use crate::application::batch_request::BatchRequest;
use crate::application::batches::{self, Standing};
use crate::application::caller::Caller;
use crate::application::error::{self, Error, FieldFault};
use crate::application::jobs::image_url;
use crate::application::state::AppState;
use crate::application::submit_batch::{self, estimate_batch, submit_batch};
use crate::web::auth::Principal;
use crate::web::body::{self, MediaType};
use crate::web::idempotency_key;
use crate::web::paging;
use crate::web::problem::Problem;
use actix_web::http::{Method, header};
use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use futures_util::stream;
use tintype_api::{BatchEstimate, BatchResult};
use tintype_storage::domain::batch::{Batch, BatchStatus};
use tintype_storage::domain::ids::JobId;
use tokio::task::spawn_blocking;

/// Bytes of a body.
pub const MAX_BODY_BYTES: usize = 16 << 20;
/// What a body takes in memory with the requests and records that are made of it, in proportion to its length.
const MEMORY_FACTOR: u64 = 3;
/// Bytes up to which a body is parsed on the thread that serves calls.
const PARSED_AT_ONCE: usize = 64 << 10;
/// Results that are read and written at a time.
const RESULTS_AT_A_TIME: usize = 200;

/// `POST /batches`
pub async fn create(
    principal: Principal,
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let caller = &principal.caller;
    submit_batch::begin(&state, caller).await?;
    let form = match body::media_type(&request)? {
        Some(MediaType::Json) => Form::Json,
        Some(MediaType::Lines) => Form::Lines,
        None => {
            let expected = "send the body as `Content-Type: application/json`, or as `application/x-ndjson` with one request per line";
            return Err(body::unsupported(expected));
        }
    };
    body::check_length(MAX_BODY_BYTES, request.headers())?;
    let declared = body::declared_length(request.headers());
    let length = declared.unwrap_or(u64::MAX).min(MAX_BODY_BYTES as u64);
    let memory = state.input_limits(caller.account()).memory;
    let _room = memory
        .reserve_whole(length * MEMORY_FACTOR)
        .await
        .map_err(Error::from)?;
    let body = body::read_within(MAX_BODY_BYTES, &request, payload, &state).await?;
    let parsed = parse(&state, body, form).await?;
    submit_batch::check_scope(caller, &parsed.models)?;
    let is_dry_run = dry_run::is_asked(request.query_string());
    let key = idempotency_key::key(request.headers());
    let (batch, is_dry_run) = whole(parsed.request, key, is_dry_run)?;
    if is_dry_run {
        let estimate = estimate_batch(&state, caller, batch).await?;
        let mut answer = HttpResponse::Ok();
        answer.insert_header((header::CACHE_CONTROL, "no-store"));
        return Ok(answer.json(BatchEstimate {
            price: estimate.price.into(),
            requests: estimate.requests,
            available: estimate.available.into(),
        }));
    }
    let accepted = submit_batch(&state, caller, batch).await?;
    let found = state.store.batch(caller.account(), accepted.batch).await;
    let found = found.map_err(Error::from)?;
    let standing = found.ok_or_else(error::internal)?;
    let mut answer = HttpResponse::Accepted();
    let path = format!("{}/api/v1/batches/{}", state.public_url, accepted.batch);
    answer.insert_header((header::LOCATION, path));
    answer.insert_header((header::RETRY_AFTER, "2"));
    answer.insert_header((header::CACHE_CONTROL, "no-store"));
    if accepted.replayed {
        answer.insert_header(idempotency_key::REPLAYED);
    }
    Ok(answer.json(answers::batch(&state, &standing).await?))
}

/// A large body takes long to parse: not on this thread, which serves other calls.
async fn parse(state: &web::Data<AppState>, body: Bytes, form: Form) -> Result<Parsed, Problem> {
    let shared = state.clone();
    let is_small = body.len() <= PARSED_AT_ONCE;
    let parse = move || {
        let bounds = Bounds {
            catalog: &shared.catalog,
            max_prompt_chars: shared.config.jobs.max_prompt_chars,
            max_requests: shared.config.batches.max_requests,
        };
        batch::parse(&body, form, bounds)
    };
    if is_small {
        return Ok(parse());
    }
    let parsed = spawn_blocking(parse).await;
    Ok(parsed.map_err(|_| error::internal())?)
}

/// The request of a call, or the faults of its body, headers and query.
fn whole(
    batch: Result<BatchRequest, Vec<FieldFault>>,
    key: Result<Option<String>, FieldFault>,
    is_dry_run: Result<bool, Vec<FieldFault>>,
) -> Result<(BatchRequest, bool), Problem> {
    match (batch, key, is_dry_run) {
        (Ok(mut batch), Ok(key), Ok(is_dry_run)) => {
            batch.idempotency_key = key;
            Ok((batch, is_dry_run))
        }
        (batch, key, is_dry_run) => {
            let faults = batch.err().unwrap_or_default().into_iter();
            let faults = faults.chain(key.err());
            let faults = faults.chain(is_dry_run.err().unwrap_or_default());
            Err(Problem::validation(faults.collect()))
        }
    }
}

/// `GET /batches`
pub async fn list(
    principal: Principal,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let window = paging::window(&request)?;
    principal.admit()?;
    let page = batches::page_of(&state, principal.caller.account(), window).await?;
    let mut answer = HttpResponse::Ok();
    answer.insert_header((header::CACHE_CONTROL, "no-store"));
    Ok(answer.json(answers::batches(&state, page).await))
}

/// `GET /batches/{batch_id}`, at once or, when the caller asks for that, once the batch has ended.
pub async fn show(
    principal: Principal,
    request: HttpRequest,
    path: web::Path<String>,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let (batch, progress) = find(&principal, &path, &state).await?;
    let patience = long_poll::asked(&request)?;
    principal.admit()?;
    let progress = match patience.filter(|_| progress.status() != BatchStatus::Ended) {
        Some(patience) => batches::until_ended(&state, &batch, patience.span()).await?,
        None => progress,
    };
    let mut response = answer(&state, &(batch, progress)).await?;
    if let Some(patience) = patience {
        patience.tell(response.headers_mut());
    }
    Ok(response)
}

/// `DELETE /batches/{batch_id}`: cancels what is still queued.
pub async fn cancel(
    principal: Principal,
    path: web::Path<String>,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let (batch, _) = find(&principal, &path, &state).await?;
    principal.admit()?;
    let caller = Caller::ApiKey(principal.caller);
    let standing = batches::cancel(&state, &caller, batch).await?;
    answer(&state, &standing).await
}

/// The caller's batch of a path; one of another account is not told apart from one that does not exist.
async fn find(principal: &Principal, path: &str, state: &AppState) -> Result<Standing, Problem> {
    Ok(batches::find(state, principal.caller.account(), path).await?)
}

async fn answer(state: &AppState, standing: &Standing) -> Result<HttpResponse, Problem> {
    let mut answer = HttpResponse::Ok();
    answer.insert_header((header::CACHE_CONTROL, "no-store"));
    Ok(answer.json(answers::batch(state, standing).await?))
}

/// `GET /batches/{batch_id}/results`: a line for each request, in their order.
pub async fn results(
    principal: Principal,
    request: HttpRequest,
    path: web::Path<String>,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let (batch, _) = find(&principal, &path, &state).await?;
    principal.admit()?;
    let mut answer = HttpResponse::Ok();
    answer.content_type("application/x-ndjson");
    answer.insert_header((header::CACHE_CONTROL, "no-store"));
    if request.method() == Method::HEAD {
        return Ok(answer.finish());
    }
    let pages = Results {
        state,
        batch,
        last: None,
    };
    let lines = stream::unfold(Some(pages), |pages| async move {
        match pages?.next().await {
            Ok((block, rest)) => block.map(|block| (Ok(block), rest)),
            // Ends the connection, so that a client cannot take a part of the results for the whole.
            Err(error) => Some((Err(Problem::from(error)), None)),
        }
    });
    Ok(answer.streaming(lines))
}

/// The results that have not been written yet.
struct Results {
    state: web::Data<AppState>,
    batch: Batch,
    /// The last job that was written.
    last: Option<JobId>,
}

impl Results {
    /// The next lines, and the results after them; no lines at the end.
    async fn next(mut self) -> Result<(Option<Bytes>, Option<Self>), Error> {
        let jobs = self
            .state
            .store
            .jobs_of_batch(&self.batch, self.last, RESULTS_AT_A_TIME)
            .await?;
        let Some(last) = jobs.last() else {
            return Ok((None, None));
        };
        self.last = Some(last.id);
        let mut block = Vec::with_capacity(jobs.len() * 512);
        for job in &jobs {
            let url = image_url(&self.state, job).await?;
            // A struct of strings always encodes.
            let line = serde_json::to_vec(&BatchResult::new(job, url)).unwrap_or_default();
            block.extend(line);
            block.push(b'\n');
        }
        Ok((Some(block.into()), Some(self)))
    }
}
