//! `POST /v1/batches`: submits a batch.

use super::batch_body::BatchBody;
use super::batch_object;
use super::input_lines::{self, Input};
use crate::application::blocking::blocking;
use crate::application::caller::payer::Payer;
use crate::application::core::change_lock::ChangeGuard;
use crate::application::core::commit::detached;
use crate::application::error::Error;
use crate::application::file_batches::uploaded_files;
use crate::application::file_batches::{self, FileBatchStatus};
use crate::application::submission::batch_request::BatchRequest;
use crate::application::submission::load_shedding;
use crate::compat::auth;
use crate::compat::openai::object_calls::creation_response;
use crate::compat::openai::object_ids::{WireFileId, no_such_file};
use crate::compat::openai::sdk_call;
use crate::compat::refusal::{CompatResult, Refusal};
use crate::compat::state::CompatState;
use crate::inputs::Reservation;
use crate::web::body;
use crate::web::submissions::idempotency_key;
use actix_web::{HttpRequest, web};
use tintype_fair_semaphore::Permit;
use tintype_storage::domain::file_batch::{BatchEndpoint, UploadedFile};
use tintype_storage::domain::ids::AccountId;

/// Memory of a file with its requests and records, relative to its length.
const MEMORY_FACTOR: u64 = 3;

pub async fn create(
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<CompatState>,
) -> CompatResult {
    let caller = auth::authenticate(&request, &state.accounts).await?;
    let key = idempotency_key::key(request.headers())?;
    let body = body::read_json(&request, payload, &state.settings).await?;
    let batch_body = match BatchBody::read(&body) {
        Ok(batch_body) => batch_body,
        Err(refusal) => {
            load_shedding::check(&state.generations, caller.account()).await?;
            return Err(refusal);
        }
    };
    let call = Call {
        state: state.clone(),
        caller,
        batch_body,
        key,
        is_first_attempt: sdk_call::attempt_of(&request) == 0,
    };
    // Detached, because a client that disconnects repeats its request, which then waits until this one has created the batch, or
    // has noted its refusal.
    let (batch, replayed) = detached(call.submit()).await?;
    Ok(creation_response(
        batch_object::json(&batch, &state),
        replayed,
    ))
}

/// A valid request.
struct Call {
    state: web::Data<CompatState>,
    caller: Payer,
    batch_body: BatchBody,
    key: Option<String>,
    /// The client does not repeat an earlier request automatically.
    is_first_attempt: bool,
}

/// Exclude calls with the same idempotency key or the same file.
type CallGuards = (Option<Permit<(AccountId, String)>>, ChangeGuard);

impl Call {
    /// Returns the batch, and whether an earlier request created it.
    async fn submit(self) -> Result<(FileBatchStatus, bool), Refusal> {
        let state = self.state.clone();
        let batch = (self.caller.key.id, self.batch_body.terms.clone());
        let is_first_attempt = self.is_first_attempt;
        let (outcome, _guards) = match self.admit().await {
            Ok(guards) => (self.submit_admitted().await, Some(guards)),
            Err(refusal) => (Err(refusal), None),
        };
        if outcome.is_err() && is_first_attempt {
            state.refused_batches.add(batch, state.core.now());
        }
        outcome
    }

    async fn admit(&self) -> Result<CallGuards, Refusal> {
        load_shedding::check(&self.state.generations, self.caller.account()).await?;
        self.caller.check_rate()?;
        let key = match self.key.clone() {
            Some(key) => {
                let name = (self.caller.account(), key);
                Some(self.state.submissions.acquire(name, 1).await)
            }
            None => None,
        };
        let input = self.batch_body.terms.input;
        Ok((key, self.state.core.locks.files.lock(input).await?))
    }

    async fn submit_admitted(mut self) -> Result<(FileBatchStatus, bool), Refusal> {
        let first = match self.find_first().await {
            Ok(Some(first)) => return Ok((first, true)),
            Ok(None) => Ok(()),
            // Decided below: another file with the same requests is no other call.
            Err(error) => Err(error),
        };
        if let Some(earlier) = self.find_earlier_attempt().await? {
            return Ok((earlier, true));
        }
        let (state, caller) = (&self.state, &self.caller);
        let input = self.batch_body.terms.input;
        let lines = match uploaded_files::find(&state.core, caller.account(), input).await? {
            Some(file) => read_lines(state, caller, &file, self.batch_body.terms.endpoint).await?,
            None => None,
        };
        let Some((lines, memory)) = lines else {
            first?;
            let id = WireFileId::Uploaded(input).to_string();
            return Err(no_such_file(&id, "input_file_id"));
        };
        match lines {
            Ok(Input { entries, as_urls }) => {
                self.batch_body.terms.as_urls = as_urls;
                let batch = BatchRequest {
                    entries,
                    metadata: self.batch_body.metadata,
                    callback_url: None,
                    idempotency_key: self.key,
                    file: Some(self.batch_body.terms),
                    memory: Some(memory),
                };
                Ok(file_batches::submit(&state.generations, caller, batch).await?)
            }
            Err(faults) => {
                first?;
                let (core, settings) = (&state.core, &state.settings);
                let (terms, key) = (self.batch_body.terms, self.key);
                let failed =
                    file_batches::record_failed(core, settings, caller, terms, faults, key);
                Ok((failed.await?, false))
            }
        }
    }

    /// Finds the batch that the first call with the same idempotency key created, even if its file was deleted since, or was invalid
    /// then: models change with the configuration.
    async fn find_first(&self) -> Result<Option<FileBatchStatus>, Error> {
        let Some(key) = &self.key else {
            return Ok(None);
        };
        let terms = &self.batch_body.terms;
        file_batches::find_by_idempotency_key(&self.state.core, &self.caller, key, terms).await
    }

    async fn find_earlier_attempt(&self) -> Result<Option<FileBatchStatus>, Error> {
        if self.key.is_some() || self.is_first_attempt {
            return Ok(None);
        }
        let (core, caller, terms) = (&self.state.core, &self.caller, &self.batch_body.terms);
        let batch = (caller.key.id, terms.clone());
        let refused_at = self.state.refused_batches.last(&batch, core.now());
        file_batches::find_earlier_attempt(core, caller, terms, refused_at).await
    }
}

/// Parses the file on the blocking pool, because a large file takes long. Returns the reservation of the memory of its requests too.
/// `None` if the file was deleted meanwhile.
async fn read_lines(
    state: &web::Data<CompatState>,
    caller: &Payer,
    file: &UploadedFile,
    endpoint: BatchEndpoint,
) -> Result<Option<(input_lines::InputResult, Reservation)>, Refusal> {
    let inputs = &state.generations.inputs;
    let reserved = inputs.reserve(caller.account(), file.bytes * MEMORY_FACTOR);
    let reserved = reserved.await.map_err(Error::from)?;
    let Some(content) = uploaded_files::read(&state.jobs, file).await? else {
        return Ok(None);
    };
    let (shared, caller) = (state.clone(), caller.clone());
    let read = move || {
        let settings = &shared.settings;
        Ok::<_, Error>(input_lines::read(&content, endpoint, &caller, settings))
    };
    Ok(Some((blocking(read).await?, reserved)))
}
