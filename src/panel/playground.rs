//! Generates images from the panel: the same checks as a native call, charged to the account's panel key.

use super::payer;
use crate::api::generation::Endpoint;
use crate::api::responses::models_on_sale;
use crate::application::caller::check_active;
use crate::application::core::Core;
use crate::application::error::Error;
use crate::application::pause;
use crate::application::services::{AccountService, GenerationService};
use crate::application::settings::Settings;
use crate::application::submit_generation::{begin, submit_generation};
use crate::inputs::{self, StagedUpload, StoredUpload, UploadFault};
use crate::objects::FAULT_TARGET;
use crate::web::access::{OfAccount, path_segment};
use crate::web::generation_call::{accepted_response, read};
use crate::web::problem::{Code, HttpResult, Problem};
use actix_multipart::{Field, Multipart};
use actix_web::{HttpRequest, HttpResponse, web};
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::request::MAX_INPUTS;
use tintype_storage::domain::tier::{Mode, Tier};
use tokio::time::timeout;

/// `GET /models`: the models and their prices.
pub async fn models(
    _: OfAccount,
    core: web::Data<Core>,
    settings: web::Data<Settings>,
) -> HttpResult {
    let pause = pause::current(&core).await?;
    Ok(HttpResponse::Ok().json(json!({
        "data": models_on_sale(&settings, &pause, |_| true),
        "max_prompt_chars": settings.config.jobs.max_prompt_chars,
        "max_inputs": MAX_INPUTS,
        "max_input_bytes": settings.config.inputs.max_total_bytes,
    })))
}

/// `POST /generations/{tier}`: a form with the part `request`, the JSON of a native call, and a part `image` per input
/// image. The audit log records the person.
pub async fn create(
    of: OfAccount,
    request: HttpRequest,
    payload: web::Payload,
    accounts: web::Data<AccountService>,
    generations: web::Data<GenerationService>,
) -> HttpResult {
    check_active(&of.account)?;
    let unknown = || Problem::new(Code::NotFound, "there is no such model");
    let tier: Tier = path_segment(&request, "tier")
        .parse()
        .map_err(|_| unknown())?;
    let time = generations.settings.config.server.body_timeout();
    let timed_out = |_| Problem::new(Code::RequestTimeout, "the form did not arrive in time");
    let (body, images) = timeout(
        time,
        receive(&request, payload, &generations, of.account.id),
    )
    .await
    .map_err(timed_out)??;
    let with_inputs = !images.is_empty() || has_input_urls(&body);
    let endpoint = Endpoint {
        tier,
        mode: match with_inputs {
            true => Mode::ImageToImage,
            false => Mode::TextToImage,
        },
    };
    let payer = payer::of(&accounts, &of).await?;
    let submitted = async {
        begin(&generations, &payer, tier).await?;
        let request = read(
            request.headers(),
            &body,
            endpoint,
            images,
            Vec::new(),
            &generations.settings,
        )?;
        Ok(submit_generation(&generations, &payer, request).await?)
    };
    let job = submitted
        .await
        .map_err(|problem: Problem| payer::explain_rejection(&payer, problem))?;
    Ok(accepted_response(&generations.settings, job))
}

fn has_input_urls(body: &[u8]) -> bool {
    serde_json::from_slice::<Value>(body).is_ok_and(|it| it.get("input_images_urls").is_some())
}

async fn receive(
    request: &HttpRequest,
    payload: web::Payload,
    generations: &GenerationService,
    account: AccountId,
) -> Result<(Vec<u8>, Vec<StoredUpload>), Problem> {
    let limits = generations.input_limits(account);
    let malformed = |error| Problem::field("body", format!("is not a valid form: {error}"));
    let prefix = inputs::new_prefix();
    let mut bytes_left = generations.settings.config.inputs.max_total_bytes;
    let (mut body, mut images) = (None, Vec::new());
    let mut fields = Multipart::new(request.headers(), payload);
    while let Some(field) = fields.next().await {
        let field = field.map_err(malformed)?;
        match field.name().unwrap_or_default() {
            "request" => {
                body = Some(text(field, generations.settings.config.server.max_body_bytes).await?)
            }
            "image" if images.len() < MAX_INPUTS => {
                let stem = inputs::upload_stem(&prefix, images.len());
                let name = format!("image[{}]", images.len());
                let upload = StagedUpload::begin(generations.objects.store(), stem, &limits);
                images.push(image(field, upload, &name, &mut bytes_left).await?);
            }
            "image" => {
                let message = format!("at most {MAX_INPUTS} are allowed");
                return Err(Problem::field("image", message));
            }
            other => {
                let message = "is unknown; the parts are request and image";
                return Err(Problem::field(
                    &other.chars().take(64).collect::<String>(),
                    message,
                ));
            }
        }
    }
    let body = body.ok_or_else(|| Problem::field("request", "is required"))?;
    Ok((body, images))
}

fn incomplete_body(error: impl std::fmt::Display) -> Problem {
    Problem::field("body", format!("is incomplete: {error}"))
}

async fn text(mut field: Field, max: usize) -> Result<Vec<u8>, Problem> {
    let mut text = Vec::new();
    while let Some(chunk) = field.next().await {
        let chunk = chunk.map_err(incomplete_body)?;
        if text.len() + chunk.len() > max {
            let detail = format!("the request may have at most {max} bytes");
            return Err(Problem::new(Code::PayloadTooLarge, detail));
        }
        text.extend_from_slice(&chunk);
    }
    Ok(text)
}

/// `bytes_left` is the remaining size for all images of the request.
async fn image(
    mut field: Field,
    mut upload: StagedUpload,
    name: &str,
    bytes_left: &mut u64,
) -> Result<StoredUpload, Problem> {
    let refused = |fault: UploadFault| match fault {
        UploadFault::Image(message) => Problem::field(name, message),
        UploadFault::MemoryUnavailable(fault) => Error::from(fault).into(),
        UploadFault::Store(error) => {
            tracing::error!(target: FAULT_TARGET, %error, "could not store an input image");
            let detail = "the input images could not be stored; try again";
            Problem::new(Code::StorageUnavailable, detail)
        }
    };
    while let Some(chunk) = field.next().await {
        let chunk = chunk.map_err(incomplete_body)?;
        let left = bytes_left.checked_sub(chunk.len() as u64);
        *bytes_left =
            left.ok_or_else(|| Problem::field(name, "the images are too large together"))?;
        upload = upload.push(chunk).await.map_err(refused)?;
    }
    upload.finish().await.map_err(refused)
}
