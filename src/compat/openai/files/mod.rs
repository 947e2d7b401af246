//! `/v1/files`: files with the requests of batches, and those with their results.

mod file_list;
mod file_object;
mod upload;

use super::batches::result_lines;
use super::object_calls::{admitted, answered};
use super::object_ids::{FileName, no_file};
use super::unknown_paths::{self, shared_path};
use crate::application::file_batches::{self, ResultsFile};
use crate::application::uploaded_files;
use crate::compat::deadline;
use crate::compat::dialect::Dialect;
use crate::compat::drain;
use crate::compat::refusal::Refusal;
use crate::compat::state::CompatState;
use crate::web::catch_panic::Walled;
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::{Value, json};
use tintype_storage::domain::file_batch::UploadedFile;

/// Adds the routes.
pub fn configure(service: &mut web::ServiceConfig) {
    service
        .service(
            shared_path("/v1/files")
                .route(web::post().to(Walled(create)))
                .route(web::get().to(Walled(list)))
                .default_service(web::to(unknown_paths::only_get_or_post)),
        )
        .service(
            shared_path("/v1/files/{file}")
                .route(web::get().to(Walled(show)))
                .route(web::delete().to(Walled(delete)))
                .default_service(web::to(unknown_paths::only_get_or_delete)),
        )
        .service(
            shared_path("/v1/files/{file}/content")
                .route(web::get().to(Walled(content)))
                .default_service(web::to(unknown_paths::only_get)),
        )
        .service(
            shared_path("/v1/files{rest:(/.*)?}")
                .default_service(web::to(unknown_paths::nothing_there)),
        );
}

/// A file that a caller may see.
pub enum File {
    Uploaded(UploadedFile),
    Results(ResultsFile),
}

async fn create(
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<CompatState>,
) -> HttpResponse {
    answered(stored(&request, payload, &state).await)
}

async fn stored(
    request: &HttpRequest,
    mut payload: web::Payload,
    state: &web::Data<CompatState>,
) -> Result<Value, Refusal> {
    let until = deadline::until(request, state);
    let caller = match admitted(request, state).await {
        Ok(caller) => caller,
        Err(refusal) => {
            drain::briefly(&mut payload).await;
            return Err(refusal);
        }
    };
    let account = caller.account();
    let arrived = upload::receive(request, payload, state, account, until).await?;
    let file = uploaded_files::add(&state.app, account, arrived.file).await?;
    Ok(file_object::json(&File::Uploaded(file)))
}

async fn list(request: HttpRequest, state: web::Data<CompatState>) -> HttpResponse {
    answered(listed(&request, &state).await)
}

async fn listed(request: &HttpRequest, state: &CompatState) -> Result<Value, Refusal> {
    let caller = admitted(request, state).await?;
    file_list::page(request, state, caller.account()).await
}

async fn show(
    request: HttpRequest,
    path: web::Path<String>,
    state: web::Data<CompatState>,
) -> HttpResponse {
    let found = found(&request, &path, &state).await;
    answered(found.map(|file| file_object::json(&file)))
}

async fn delete(
    request: HttpRequest,
    path: web::Path<String>,
    state: web::Data<CompatState>,
) -> HttpResponse {
    answered(deleted(&request, &path, &state).await)
}

async fn deleted(
    request: &HttpRequest,
    id: &str,
    state: &web::Data<CompatState>,
) -> Result<Value, Refusal> {
    match found(request, id, state).await? {
        File::Uploaded(file) => uploaded_files::delete(&state.app, file).await?,
        File::Results(file) => file_batches::delete_results(&state.app, file).await?,
    }
    Ok(json!({"id": id, "object": "file", "deleted": true}))
}

async fn content(
    request: HttpRequest,
    path: web::Path<String>,
    state: web::Data<CompatState>,
) -> HttpResponse {
    let outcome = opened(&request, &path, &state).await;
    outcome.unwrap_or_else(|refusal| Dialect::OpenAi.answer(&refusal))
}

async fn opened(
    request: &HttpRequest,
    id: &str,
    state: &web::Data<CompatState>,
) -> Result<HttpResponse, Refusal> {
    let file = found(request, id, state).await?;
    let mut answer = HttpResponse::Ok();
    answer.content_type("application/octet-stream");
    answer.insert_header((header::CACHE_CONTROL, "no-store"));
    answer.insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"));
    answer.insert_header((header::CONTENT_DISPOSITION, "attachment"));
    Ok(match file {
        File::Uploaded(file) => {
            let pieces = uploaded_files::content(state, &file).await?;
            answer.no_chunking(file.bytes);
            answer.streaming(pieces)
        }
        File::Results(file) => answer.body(result_lines::body(&state.app, file)),
    })
}

/// The file of a path, where the caller has it.
async fn found(
    request: &HttpRequest,
    id: &str,
    state: &web::Data<CompatState>,
) -> Result<File, Refusal> {
    let account = admitted(request, state).await?.account();
    let file = match FileName::read(id) {
        Some(FileName::Uploaded(file)) => {
            let file = uploaded_files::find(state, account, file).await?;
            file.map(File::Uploaded)
        }
        Some(FileName::Results(kind, batch)) => {
            let batch = file_batches::find(state, account, batch).await?;
            let file = batch.and_then(|it| it.results_of(kind, state));
            file.map(File::Results)
        }
        None => None,
    };
    file.ok_or_else(|| no_file(id, "id"))
}
