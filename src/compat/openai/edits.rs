//! `POST /v1/images/edits`: images from a prompt and input images.

use super::edit_body::{self, EditImages};
use super::mask;
use super::multipart::{self, Form};
use super::options::Options;
use super::response;
use super::stream::{Completed, Events};
use crate::application::caller::payer::Payer;
use crate::application::settings::Settings;
use crate::application::submission::generation_request::GenerationRequest;
use crate::application::submission::load_shedding;
use crate::compat::job_stream;
use crate::compat::jobs::submission::Call;
use crate::compat::refusal::{CompatResult, Refusal};
use crate::compat::request_body::drain::drain_if_refused;
use crate::compat::state::CompatState;
use crate::observability::request_log;
use crate::web::body::{MediaType, media_type};
use actix_web::{HttpRequest, HttpResponse, web};

pub async fn create(
    request: HttpRequest,
    mut payload: web::Payload,
    state: web::Data<CompatState>,
) -> CompatResult {
    let call = Call::of_sdk(&request, &state).await;
    let mut call = drain_if_refused(&mut payload, call).await?;
    let received = receive(&call, &request, payload).await;
    let (form, idempotency_key) = call.recorded(None, received)?;
    let edit = Edit::of_form(form, idempotency_key, &call.caller, &state.settings)?;
    call.heed_read_timeout(&request, edit.options.stream);
    let content = edit.request.fingerprint();
    let outcome = respond(&call, &request, edit).await;
    call.recorded(Some(content), outcome)
}

/// Returns the form and the idempotency key.
async fn receive(
    call: &Call<'_>,
    request: &HttpRequest,
    mut payload: web::Payload,
) -> Result<(Form, Option<String>), Refusal> {
    let (state, account) = (call.state, call.caller.account());
    let idempotency_key = call.check_headers(request, &mut payload).await?;
    let form = match media_type(request) {
        Ok(Some(MediaType::Json)) => {
            edit_body::receive(request, payload, state, account, call.deadline).await?
        }
        _ => multipart::receive(request, payload, state, account, call.deadline).await?,
    };
    load_shedding::check(&state.generations, account).await?;
    Ok((form, idempotency_key))
}

/// A valid request.
struct Edit {
    options: Options,
    /// The number of input images without the mask.
    inputs: usize,
    request: GenerationRequest,
}

impl Edit {
    fn of_form(
        form: Form,
        idempotency_key: Option<String>,
        caller: &Payer,
        settings: &Settings,
    ) -> Result<Self, Refusal> {
        let options = form.options.read(caller, settings)?;
        if form.images.is_empty() {
            return Err(Refusal::missing(
                "image",
                "send at least one part of this name",
            ));
        }
        if options.count > 1 {
            // A job owns its input images, which are deleted when it ends.
            let message = "must be 1 for edits; send one request for each image";
            return Err(Refusal::field("n", message));
        }
        let inputs = form.images.len();
        let images = (form.images, form.mask);
        let request = edit_request(&options, images, idempotency_key, settings)?;
        Ok(Self {
            options,
            inputs,
            request,
        })
    }
}

/// The request of an edit of these images, with a mask as the last input image, or without one.
///
/// # Errors
/// The mask is not usable.
pub fn edit_request(
    options: &Options,
    (mut images, mask): EditImages,
    idempotency_key: Option<String>,
    settings: &Settings,
) -> Result<GenerationRequest, Refusal> {
    let has_mask = mask.is_some();
    if let Some(mask) = mask {
        mask::check(&mask, images.first(), options.offer.tier(), settings)?;
        images.push(mask);
    }
    let mut request = options.request(images, idempotency_key);
    request.options.has_mask = has_mask;
    Ok(request)
}

async fn respond(
    call: &Call<'_>,
    request: &HttpRequest,
    edit: Edit,
) -> Result<HttpResponse, Refusal> {
    let (state, deadline) = (call.state, call.deadline);
    let Edit {
        options, inputs, ..
    } = edit;
    let waiter = call.submit(edit.request).await?;
    request_log::record_job(request, waiter.job);
    if options.stream {
        let events = Events {
            state: state.clone(),
            completed: Completed::Edit,
            options,
            inputs,
        };
        return job_stream::respond(events, waiter, deadline).await;
    }
    response::wait_and_respond(vec![waiter], &options, inputs, deadline, &state.core).await
}
