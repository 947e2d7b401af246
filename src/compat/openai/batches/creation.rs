//! `POST /v1/batches`

use super::asked_batch::AskedBatch;
use super::input_lines::{self, Input};
use super::{answered, batch_object};
use crate::application::batch_request::BatchRequest;
use crate::application::commit::detached;
use crate::application::error::{self, Error};
use crate::application::file_batches::{self, FileBatchStatus};
use crate::application::load_shedding;
use crate::application::payer::Payer;
use crate::application::uploaded_files;
use crate::compat::auth;
use crate::compat::openai::object_ids::{FileName, no_file};
use crate::compat::refusal::Refusal;
use crate::compat::state::CompatState;
use crate::web::{body, idempotency_key};
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use tintype_storage::domain::file_batch::UploadedFile;
use tokio::task::spawn_blocking;

/// How often OpenAI's SDKs have sent a call before.
const RETRY_COUNT: &str = "x-stainless-retry-count";
/// What a file takes in memory with the requests and records that are made of it, in proportion to its length.
const MEMORY_FACTOR: u64 = 3;

/// Handles one call.
pub async fn create(
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<CompatState>,
) -> HttpResponse {
    match submitted(&request, payload, &state).await {
        Ok((batch, replayed)) => {
            let mut answer = answered(Ok(batch_object::json(&batch, &state)));
            if replayed {
                let (name, value) = idempotency_key::REPLAYED;
                if let Ok(name) = HeaderName::try_from(name) {
                    let value = HeaderValue::from_static(value);
                    answer.headers_mut().insert(name, value);
                }
            }
            answer
        }
        Err(refusal) => answered(Err(refusal)),
    }
}

/// The batch, and whether an earlier call has made it.
async fn submitted(
    request: &HttpRequest,
    payload: web::Payload,
    state: &web::Data<CompatState>,
) -> Result<(FileBatchStatus, bool), Refusal> {
    let caller = auth::authenticate(request, state).await?;
    let key = idempotency_key::key(request.headers())
        .map_err(|fault| Refusal::field(fault.field, fault.message))?;
    let body = body::read_json(request, payload, state).await?;
    load_shedding::check(state, caller.account()).await?;
    let asked = AskedBatch::read(&body)?;
    caller.check_rate()?;
    let call = Call {
        state: state.clone(),
        caller,
        asked,
        is_retry: key.is_none() && is_retry(request),
        key,
    };
    // A client that leaves repeats its call: that one waits until this one has made its batch.
    detached(call.submit()).await
}

/// A call that is well formed.
struct Call {
    state: web::Data<CompatState>,
    caller: Payer,
    asked: AskedBatch,
    key: Option<String>,
    /// Its client repeats it and names no idempotency key.
    is_retry: bool,
}

impl Call {
    /// The batch, and whether an earlier call has made it.
    async fn submit(mut self) -> Result<(FileBatchStatus, bool), Refusal> {
        let (state, caller) = (&self.state, &self.caller);
        let input = self.asked.terms.input;
        let _guard = state.file_locks.lock(input).await?;
        if self.is_retry {
            let terms = &self.asked.terms;
            let earlier = file_batches::find_earlier_attempt(state, caller, terms).await?;
            if let Some(batch) = earlier {
                return Ok((batch, true));
            }
        }
        let file = uploaded_files::find(state, caller.account(), input).await?;
        let unknown = || no_file(&FileName::Uploaded(input).to_string(), "input_file_id");
        let read = read_lines(state, caller, &file.ok_or_else(unknown)?).await?;
        match read {
            Ok(Input { entries, as_urls }) => {
                self.asked.terms.as_urls = as_urls;
                let batch = BatchRequest {
                    entries,
                    metadata: self.asked.metadata,
                    callback_url: None,
                    idempotency_key: self.key,
                    file: Some(self.asked.terms),
                };
                Ok(file_batches::submit(&state.app, caller, batch).await?)
            }
            Err(faults) => {
                let terms = self.asked.terms;
                let failed = file_batches::record_failed(state, caller, terms, faults).await?;
                Ok((failed, false))
            }
        }
    }
}

/// Does a client repeat a call whose answer it has not had?
fn is_retry(request: &HttpRequest) -> bool {
    let count = request.headers().get(RETRY_COUNT);
    let count = count.and_then(|it| it.to_str().ok()?.parse::<u32>().ok());
    count.is_some_and(|count| count > 0)
}

/// The requests of a file, or its faults. They are read on the blocking pool: a large file takes long.
async fn read_lines(
    state: &web::Data<CompatState>,
    caller: &Payer,
    file: &UploadedFile,
) -> Result<input_lines::Read, Refusal> {
    let memory = state.input_limits(caller.account()).memory;
    let room = memory.reserve_whole(file.bytes * MEMORY_FACTOR).await;
    let _room = room.map_err(Error::from)?;
    let content: Bytes = uploaded_files::read(state, file).await?;
    let (shared, caller) = (state.clone(), caller.clone());
    let read = spawn_blocking(move || input_lines::read(&content, &caller, &shared));
    let read = read.await.map_err(|_| error::internal())?;
    Ok(read)
}
