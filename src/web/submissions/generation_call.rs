//! Shared by all native generation calls: reads the request and writes the response.

use super::cancel_after;
use super::idempotency_key;
use crate::api::generation::{self, Endpoint};
use crate::application::settings::Settings;
use crate::application::submission::generation_request::{GenerationRequest, Input};
use crate::inputs::StoredUpload;
use crate::observability::request_log;
use crate::web::no_store;
use crate::web::problem::{FieldFault, Problem};
use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderMap, HeaderValue};
use tintype_api::CreatedJob;
use tintype_storage::store::AcceptedJob;

/// Reads body and headers into a request, or lists the faults of both and those found `before`. `uploads` are input images that arrived
/// with the body; they precede the URLs of the body.
pub fn read(
    headers: &HeaderMap,
    body: &[u8],
    endpoint: Endpoint,
    uploads: Vec<StoredUpload>,
    before: Vec<FieldFault>,
    settings: &Settings,
) -> Result<GenerationRequest, Problem> {
    let name = idempotency_key::key(headers);
    let cancel_after = cancel_after::span(headers);
    let max_prompt_chars = settings.config.jobs.max_prompt_chars;
    let count = uploads.len();
    let request = generation::parse(body, endpoint, count, &settings.catalog, max_prompt_chars);
    match (request, name, cancel_after) {
        (Ok(mut request), Ok(name), Ok(cancel_after)) if before.is_empty() => {
            request.idempotency_key = name;
            request.cancel_after = cancel_after;
            let uploads = uploads.into_iter().map(|it| Input::Stored(Box::new(it)));
            request.inputs.splice(0..0, uploads);
            Ok(request)
        }
        (request, name, cancel_after) => {
            let faults = request.err().unwrap_or_default().into_iter();
            let faults = faults
                .chain(name.err())
                .chain(cancel_after.err())
                .chain(before);
            Err(Problem::validation(faults.collect()))
        }
    }
}

/// 202 with the job.
pub fn accepted_response(
    settings: &Settings,
    AcceptedJob { job, replayed }: AcceptedJob,
) -> HttpResponse {
    let location = [&*settings.public_url, &CreatedJob::path(job)].concat();
    let mut response = no_store::build(StatusCode::ACCEPTED);
    response.insert_header((header::LOCATION, location));
    response.insert_header((header::RETRY_AFTER, HeaderValue::from_static("2")));
    request_log::record_job_in_response(&mut response, job);
    if replayed {
        response.insert_header(idempotency_key::REPLAYED);
    }
    let body = CreatedJob::json(job);
    response.insert_header(no_store::JSON).body(body)
}
