//! `/v1/files`: files with the requests and the results of batches.

mod file_list;
mod file_object;
mod upload;

use super::batches::result_lines;
use super::object_calls::{authenticate, creation_response};
use super::object_ids::{WireFileId, no_such_file};
use super::sdk_call;
use super::unknown_paths::{guarded, not_found, shared_path};
use crate::application::blocking::blocking;
use crate::application::caller::payer::Payer;
use crate::application::core::commit::detached;
use crate::application::error::Error;
use crate::application::file_batches::uploaded_files;
use crate::application::file_batches::{self, ResultsFile};
use crate::compat::auth;
use crate::compat::deadline;
use crate::compat::recent_calls::RequestIdentity;
use crate::compat::refusal::{CompatResult, Refusal};
use crate::compat::request_body::drain::drain_if_refused;
use crate::compat::state::CompatState;
use crate::web::no_store;
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::json;
use tintype_storage::domain::file_batch::UploadedFile;
use upload::Upload;

pub fn configure(service: &mut web::ServiceConfig) {
    service
        .service(
            guarded(shared_path("/v1/files"), "GET, POST")
                .post(create)
                .get(list),
        )
        .service(
            guarded(shared_path("/v1/files/{file}"), "GET, DELETE")
                .get(show)
                .delete(delete),
        )
        .service(guarded(shared_path("/v1/files/{file}/content"), "GET").get(content))
        .service(shared_path("/v1/files{rest:(/.*)?}").default_service(web::to(not_found)));
}

pub enum File {
    Uploaded(UploadedFile),
    Results(ResultsFile),
}

async fn create(
    request: HttpRequest,
    mut payload: web::Payload,
    state: web::Data<CompatState>,
) -> CompatResult {
    let caller = auth::authenticate(&request, &state.accounts).await;
    let caller = drain_if_refused(&mut payload, caller).await?;
    let (key, attempt) = (caller.key.id, sdk_call::attempt_of(&request));
    let upload = receive(&request, payload, &state, &caller).await;
    let calls = &state.recent_uploads;
    let upload = calls.record_if_refused(attempt, (key, None), upload, state.core.now())?;
    // Detached, because a client that disconnects repeats its request, which then waits until this one has stored the file.
    let stored = detached(store_once(state.clone(), caller, upload, attempt));
    let (file, replayed) = stored.await?;
    let file = file_object::json(&File::Uploaded(file));
    Ok(creation_response(file, replayed))
}

async fn receive(
    request: &HttpRequest,
    mut payload: web::Payload,
    state: &web::Data<CompatState>,
    caller: &Payer,
) -> Result<Upload, Refusal> {
    let deadline = deadline::of_request(request, &state.settings);
    let admitted = caller.check_rate().map_err(Refusal::from);
    drain_if_refused(&mut payload, admitted).await?;
    upload::receive(request, payload, state, caller.account(), deadline).await
}

/// Stores a file, or finds the file that an earlier attempt at the same request stored. Returns the file, and whether it was found.
async fn store_once(
    state: web::Data<CompatState>,
    caller: Payer,
    upload: Upload,
    attempt: u32,
) -> Result<(UploadedFile, bool), Refusal> {
    let content = upload.file.clone();
    let identity = RequestIdentity {
        key: caller.key.id,
        fingerprint: blocking(move || Ok::<_, Error>(content.fingerprint())).await?,
    };
    let _one_at_a_time = state.uploads.acquire(identity, 1).await;
    let stored = find_or_store(&state, &caller, upload, identity, attempt).await;
    // A retry waits for this, even if the client has disconnected.
    let calls = &state.recent_uploads;
    let call = (identity.key, Some(identity.fingerprint));
    calls.record_if_refused(attempt, call, stored, state.core.now())
}

async fn find_or_store(
    state: &web::Data<CompatState>,
    caller: &Payer,
    upload: Upload,
    identity: RequestIdentity,
    attempt: u32,
) -> Result<(UploadedFile, bool), Refusal> {
    let (core, account) = (&state.core, caller.account());
    let calls = &state.recent_uploads;
    let found = match calls.take(identity, Some(attempt), core.now()) {
        Some(earlier) => uploaded_files::find(core, account, earlier.created).await?,
        None => None,
    };
    let replayed = found.is_some();
    let file = match found {
        Some(file) => file,
        None => uploaded_files::add(&state.jobs, caller, upload.file).await?,
    };
    calls.record_answered(identity, attempt, file.id, core.now());
    Ok((file, replayed))
}

async fn list(request: HttpRequest, state: web::Data<CompatState>) -> CompatResult {
    let caller = authenticate(&request, &state).await?;
    let page = file_list::page(&request, &state, caller.account()).await?;
    Ok(no_store::json(page))
}

async fn show(
    request: HttpRequest,
    path: web::Path<String>,
    state: web::Data<CompatState>,
) -> CompatResult {
    let file = find_file(&request, &path, &state).await?;
    Ok(no_store::json(file_object::json(&file)))
}

async fn delete(
    request: HttpRequest,
    path: web::Path<String>,
    state: web::Data<CompatState>,
) -> CompatResult {
    match find_file(&request, &path, &state).await? {
        File::Uploaded(file) => uploaded_files::delete(&state.jobs, file).await?,
        File::Results(file) => file_batches::delete_results(&state.core, file).await?,
    }
    let deleted = json!({"id": *path, "object": "file", "deleted": true});
    Ok(no_store::json(deleted))
}

async fn content(
    request: HttpRequest,
    path: web::Path<String>,
    state: web::Data<CompatState>,
) -> CompatResult {
    let file = find_file(&request, &path, &state).await?;
    let mut response = HttpResponse::Ok();
    response.content_type("application/octet-stream");
    response.insert_header((header::CACHE_CONTROL, "no-store"));
    response.insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"));
    response.insert_header((header::CONTENT_DISPOSITION, "attachment"));
    Ok(match file {
        File::Uploaded(file) => {
            let pieces = uploaded_files::content(&state.jobs, &file).await?;
            let pieces = pieces.ok_or_else(|| no_such_file(&path, "id"))?;
            response.no_chunking(file.bytes);
            response.streaming(pieces)
        }
        File::Results(file) => response.body(result_lines::body(&state.jobs, file)),
    })
}

/// The file with this id, if the account of the caller has it.
async fn find_file(
    request: &HttpRequest,
    id: &str,
    state: &web::Data<CompatState>,
) -> Result<File, Refusal> {
    let account = authenticate(request, state).await?.account();
    let file = match WireFileId::parse(id) {
        Some(WireFileId::Uploaded(file)) => {
            let file = uploaded_files::find(&state.core, account, file).await?;
            file.map(File::Uploaded)
        }
        Some(WireFileId::Results(kind, batch)) => {
            let batch = file_batches::find(&state.core, account, batch).await?;
            let file = batch.and_then(|it| it.results_of(kind, &state.core, &state.settings));
            file.map(File::Results)
        }
        None => None,
    };
    file.ok_or_else(|| no_such_file(id, "id"))
}
