//! Shared by all calls that submit a batch: reads the body and writes the response.

use super::cancel_after;
use super::dry_run;
use super::idempotency_key;
use crate::api::batch::{self, Bounds, ParsedBatch};
use crate::api::batch_form::Form;
use crate::application::blocking::blocking;
use crate::application::caller::payer::Payer;
use crate::application::error::{self, Error};
use crate::application::services::{GenerationService, JobService};
use crate::application::submission::batch_request::BatchRequest;
use crate::application::submission::submit_batch::{estimate_batch, submit_batch};
use crate::inputs::Reservation;
use crate::web::body;
use crate::web::no_store;
use crate::web::problem::{FieldFault, HttpResult, Problem};
use actix_web::http::{StatusCode, header};
use actix_web::{HttpRequest, web};
use bytes::Bytes;
use tintype_api::Batch;
use tintype_storage::domain::ids::AccountId;
use tintype_storage::json::Json;

pub const MAX_BODY_BYTES: usize = 16 << 20;
/// Memory of a body with its parsed requests and records, as a multiple of its length.
const MEMORY_FACTOR: u64 = 3;
/// Bodies up to this size are parsed on the worker thread.
const MAX_INLINE_BYTES: usize = 64 << 10;

/// A body, with the memory reserved for it and its requests. Work on another thread takes the whole, because it goes on after the
/// caller disconnects.
pub struct ReservedBody {
    pub bytes: Bytes,
    pub memory: Reservation,
}

/// Reserves memory for the body and for `extra` bytes, then reads it.
///
/// # Errors
/// 413 for a body over the limit, 503 without memory in time, 408 if the body does not arrive in time
pub async fn receive(
    request: &HttpRequest,
    payload: web::Payload,
    generations: &GenerationService,
    account: AccountId,
    extra: u64,
) -> Result<ReservedBody, Problem> {
    body::check_length(MAX_BODY_BYTES, request.headers())?;
    let declared = body::declared_length(request.headers());
    let length = declared.unwrap_or(u64::MAX).min(MAX_BODY_BYTES as u64);
    let reserved = length * MEMORY_FACTOR + extra;
    let memory = generations.inputs.reserve(account, reserved).await;
    let memory = memory.map_err(Error::from)?;
    let bytes = body::read_within(MAX_BODY_BYTES, request, payload, &generations.settings).await?;
    Ok(ReservedBody { bytes, memory })
}

/// Parses a body, a large one on the blocking pool. `form` tells the form of the body.
pub async fn parse(
    generations: &web::Data<GenerationService>,
    account: AccountId,
    body: ReservedBody,
    form: impl FnOnce(&[u8]) -> Result<Form, Error> + Send + 'static,
) -> Result<ParsedBatch, Error> {
    let length = body.bytes.len();
    let permit = generations.limits.batches.acquire(account).await;
    let shared = generations.clone();
    let parse = move || {
        let _permit = permit;
        let ReservedBody { bytes, memory } = body;
        let bounds = Bounds {
            catalog: &shared.settings.catalog,
            max_prompt_chars: shared.settings.config.jobs.max_prompt_chars,
            max_requests: shared.settings.config.batches.max_requests,
            max_request_bytes: shared.settings.config.server.max_body_bytes,
        };
        let mut parsed = batch::parse(&bytes, form(&bytes)?, bounds);
        if let Ok(batch) = &mut parsed.request {
            batch.memory = Some(memory);
        }
        Ok(parsed)
    };
    off_thread(length, parse).await
}

/// Runs work on a body of this many bytes, on the blocking pool if there are many.
pub async fn off_thread<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    match bytes <= MAX_INLINE_BYTES {
        true => work(),
        false => blocking(work).await,
    }
}

/// Submits a parsed batch, or estimates it for `dry_run=true`.
///
/// # Errors
/// The first check that fails
pub async fn submit(
    jobs: &JobService,
    generations: &web::Data<GenerationService>,
    caller: &Payer,
    request: &HttpRequest,
    parsed: ParsedBatch,
) -> HttpResult {
    caller.check_scopes(&parsed.models)?;
    let (batch, is_dry_run) = combine(parsed.request, request)?;
    if is_dry_run {
        let estimate = estimate_batch(generations, caller, batch).await?;
        return Ok(no_store::json(estimate));
    }
    let metadata = batch.metadata.as_ref().map(Json::to_compact);
    let accepted = submit_batch(generations, caller, batch).await?;
    let found = jobs
        .core
        .store
        .batch(caller.account(), accepted.batch)
        .await;
    let found = found.map_err(Error::from)?;
    let (batch, progress) = found.ok_or_else(error::internal)?;
    let mut response = no_store::build(StatusCode::ACCEPTED);
    let path = format!(
        "{}/api/v1/batches/{}",
        generations.settings.public_url, accepted.batch
    );
    response.insert_header((header::LOCATION, path));
    response.insert_header((header::RETRY_AFTER, "2"));
    if accepted.replayed {
        response.insert_header(idempotency_key::REPLAYED);
    }
    // A read of the stored metadata may fail, and the batch is charged. A replay has the same metadata.
    Ok(response.json(Batch::new(&batch, &progress, metadata)))
}

/// Combines body, headers and query into a request, or lists the faults of all three.
fn combine(
    batch: Result<BatchRequest, Vec<FieldFault>>,
    request: &HttpRequest,
) -> Result<(BatchRequest, bool), Problem> {
    let key = idempotency_key::key(request.headers());
    let cancel_after = match request.headers().contains_key(cancel_after::HEADER) {
        true => {
            let message = "is for single generation calls; cancel a batch with DELETE";
            Err(FieldFault::new(cancel_after::HEADER, message))
        }
        false => Ok(()),
    };
    let is_dry_run = dry_run::is_requested(request.query_string());
    match (batch, key, cancel_after, is_dry_run) {
        (Ok(mut batch), Ok(key), Ok(()), Ok(is_dry_run)) => {
            batch.idempotency_key = key;
            Ok((batch, is_dry_run))
        }
        (batch, key, cancel_after, is_dry_run) => {
            let faults = batch.err().unwrap_or_default().into_iter();
            let faults = faults.chain(key.err()).chain(cancel_after.err());
            let faults = faults.chain(is_dry_run.err().unwrap_or_default());
            Err(Problem::validation(faults.collect()))
        }
    }
}
