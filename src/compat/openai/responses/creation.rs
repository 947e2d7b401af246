//! `POST /v1/responses`

use super::lookup;
use super::object::ResponseObject;
use super::request::{self, PREVIOUS, Request};
use super::stream::Events;
use crate::application::settings::Settings;
use crate::application::submission::generation_request::GenerationRequest;
use crate::application::submission::load_shedding;
use crate::compat::conversation::InputImage;
use crate::compat::dialect::Dialect;
use crate::compat::job_stream;
use crate::compat::jobs::submission::Call;
use crate::compat::openai::edits::edit_request;
use crate::compat::openai::object_ids::{
    image_call_id, no_such_item, no_such_previous, response_id,
};
use crate::compat::refusal::{CompatResult, Refusal};
use crate::compat::request_body::body::{self, ImageHandling, ReceivedBody};
use crate::compat::request_body::drain::drain_if_refused;
use crate::compat::request_body::scanner::ImageFields;
use crate::compat::response_head::image_response;
use crate::compat::state::CompatState;
use crate::observability::request_log;
use actix_web::{HttpRequest, HttpResponse, web};
use std::mem;
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::job::Origin;

pub async fn create(
    request: HttpRequest,
    mut payload: web::Payload,
    state: web::Data<CompatState>,
) -> CompatResult {
    let call = Call::of_sdk(&request, &state).await;
    let mut call = drain_if_refused(&mut payload, call).await?;
    let received = receive(&call, &request, payload).await;
    let (body, idempotency_key) = call.recorded(None, received)?;
    let mut read = request::read(&body.text, &call.caller, &state.settings)?;
    call.heed_read_timeout(&request, read.options.stream);
    let generation = generation_request(&mut read, body, idempotency_key, &state.settings)?;
    let content = generation.fingerprint();
    let outcome = respond(&call, &request, read, generation).await;
    call.recorded(Some(content), outcome)
}

/// Returns the body and the idempotency key.
async fn receive(
    call: &Call<'_>,
    request: &HttpRequest,
    mut payload: web::Payload,
) -> Result<(ReceivedBody, Option<String>), Refusal> {
    let (state, account) = (call.state, call.caller.account());
    let idempotency_key = call.check_headers(request, &mut payload).await?;
    let handling = ImageHandling::Store(ImageFields::DataUrlOrResult);
    let body = body::receive(request, payload, state, account, handling, call.deadline).await?;
    load_shedding::check(&state.generations, account).await?;
    Ok((body, idempotency_key))
}

fn generation_request(
    request: &mut Request,
    mut body: ReceivedBody,
    idempotency_key: Option<String>,
    settings: &Settings,
) -> Result<GenerationRequest, Refusal> {
    let mut input = |image: InputImage| image.into_input(Some(&mut body));
    let images = mem::take(&mut request.images).into_iter().map(&mut input);
    let images = images.collect::<Result<Vec<_>, _>>()?;
    let mask = request.mask.take().map(input).transpose()?;
    let inputs = (images, mask);
    let generation = edit_request(&request.options, inputs, idempotency_key, settings)
        .map_err(|refusal| request.of_mask(refusal))?;
    Ok(GenerationRequest {
        metadata: request.metadata.clone(),
        origin: match request.background {
            true => Origin::Background,
            false => Origin::Synchronous,
        },
        ..generation
    })
}

/// The refusal of an earlier image that the account does not have.
fn unknown_image(job: JobId, field: &str) -> Refusal {
    match field {
        PREVIOUS => no_such_previous(&response_id(job), field),
        _ => no_such_item(&image_call_id(job), field),
    }
}

async fn respond(
    call: &Call<'_>,
    http_request: &HttpRequest,
    request: Request,
    generation: GenerationRequest,
) -> Result<HttpResponse, Refusal> {
    let state = call.state;
    let waiter = call.submit_continued(generation, unknown_image).await;
    let mut waiter = waiter.map_err(|refusal| request.of_mask(refusal))?;
    request_log::record_job(http_request, waiter.job);
    let Request {
        options,
        model,
        previous,
        background,
        ..
    } = request;
    let image = match background || options.stream {
        true => None,
        false => Some(waiter.wait(call.deadline).await?.image()?),
    };
    let object = ResponseObject::of_job(state, waiter.record().await?).await;
    let object = object.of_request(model, previous, &options);
    if options.stream {
        let state = state.clone();
        return job_stream::respond(Events { state, object }, waiter, call.deadline).await;
    }
    let parts = match image {
        Some(image) => {
            let stored = waiter.open(&image).await?;
            object.parts(Some((&image, stored)))
        }
        // A repeated call may find a job that is done.
        None => lookup::parts(state, &object).await?,
    };
    Ok(image_response(
        Dialect::OpenAi,
        waiter.replayed,
        parts,
        vec![waiter],
    ))
}
