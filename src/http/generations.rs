//! The six generation calls of the native interface.

use super::dry_run;
use crate::api::generation::{self, Endpoint};
use crate::api::job::Created;
use crate::application::caller::Caller;
use crate::application::generation_request::{GenerationRequest, Input};
use crate::application::state::AppState;
use crate::application::submit_generation::{begin, estimate_generation, submit_generation};
use crate::inputs::Held;
use crate::observability::request_log;
use crate::web::auth::Principal;
use crate::web::body;
use crate::web::idempotency_key;
use crate::web::problem::Problem;
use actix_web::http::header::{self, HeaderMap};
use actix_web::{HttpRequest, HttpResponse, web};
use tintype_storage::store::Accepted;

/// Handles one generation call.
pub async fn create(
    endpoint: Endpoint,
    principal: Principal,
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let caller = &principal.caller;
    caller.check_scope(endpoint.tier)?;
    let body = body::read_json(&request, payload, &state).await?;
    let (headers, query) = (request.headers(), request.query_string());
    submit(endpoint, caller, headers, query, &body, Vec::new(), &state).await
}

/// The same once the body has been read. `handed` are input images that came with it, before those that it names.
pub async fn submit(
    endpoint: Endpoint,
    caller: &Caller,
    headers: &HeaderMap,
    query: &str,
    body: &[u8],
    handed: Vec<Held>,
    state: &web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    begin(state, caller, endpoint.tier).await?;
    let (mut request, is_dry_run) = parse(headers, query, body, endpoint, handed.len(), state)?;
    let handed = handed.into_iter().map(|it| Input::Stored(Box::new(it)));
    request.inputs.splice(0..0, handed);
    if is_dry_run {
        let estimate = estimate_generation(state, caller, request).await?;
        return Ok(dry_run::answer(&estimate));
    }
    let job = submit_generation(state, caller, request).await?;
    Ok(accepted(state, job))
}

/// Body, headers and query, with the faults of all; and whether the call is only to be checked.
fn parse(
    headers: &HeaderMap,
    query: &str,
    body: &[u8],
    endpoint: Endpoint,
    handed: usize,
    state: &AppState,
) -> Result<(GenerationRequest, bool), Problem> {
    let is_dry_run = dry_run::is_asked(query);
    let name = idempotency_key::key(headers);
    let max_prompt_chars = state.config.jobs.max_prompt_chars;
    let request = generation::parse(body, endpoint, handed, &state.catalog, max_prompt_chars);
    match (request, name, is_dry_run) {
        (Ok(mut request), Ok(name), Ok(is_dry_run)) => {
            request.idempotency_key = name;
            Ok((request, is_dry_run))
        }
        (request, name, is_dry_run) => {
            let faults = request.err().unwrap_or_default().into_iter();
            let faults = faults
                .chain(name.err())
                .chain(is_dry_run.err().unwrap_or_default());
            Err(Problem::validation(faults.collect()))
        }
    }
}

fn accepted(state: &AppState, Accepted { job, replayed }: Accepted) -> HttpResponse {
    let job_id = job.to_string();
    let status_url = format!("/api/v1/jobs/{job_id}");
    let mut answer = HttpResponse::Accepted();
    answer.insert_header((
        header::LOCATION,
        format!("{}{status_url}", state.public_url),
    ));
    answer.insert_header((header::RETRY_AFTER, "2"));
    answer.insert_header((header::CACHE_CONTROL, "no-store"));
    request_log::note_job_of(&mut answer, job);
    if replayed {
        answer.insert_header(("Idempotent-Replayed", "true"));
    }
    answer.json(Created {
        job_id,
        status: "queued",
        status_url,
    })
}
