//! Generates images from the panel: the same checks as a native call, charged to the account's panel key.

use super::payer;
use crate::api::generation::Endpoint;
use crate::api::responses::models_on_sale;
use crate::application::caller::check_active;
use crate::application::core::Core;
use crate::application::error::upload_fault;
use crate::application::operations::pause;
use crate::application::services::{AccountService, GenerationService};
use crate::application::settings::Settings;
use crate::application::submission::load_shedding;
use crate::application::submission::submit_generation::submit_generation;
use crate::inputs::{BodyUpload, StoredUpload};
use crate::web::auth::access::{OfAccount, path_segment};
use crate::web::problem::{Code, HttpResult, Problem};
use crate::web::submissions::generation_call::{accepted_response, read};
use actix_multipart::{Field, Multipart};
use actix_web::{HttpRequest, HttpResponse, web};
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use std::time::Duration;
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::request::MAX_INPUTS;
use tintype_storage::domain::tier::{Mode, Tier};
use tokio::time::timeout;

/// The models and their prices.
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

/// A form with the part `request`, the JSON of a native call, and a part `image` per input
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
    let config = &generations.settings.config;
    let timeouts = FormTimeouts {
        pause: config.server.body_timeout(),
        whole: config.compat.timeout(),
    };
    let form = receive(&request, payload, &generations, of.account.id, timeouts);
    let (body, images) = timeouts.read(form).await?;
    let with_inputs = !images.is_empty() || has_input_urls(&body);
    let endpoint = Endpoint {
        tier,
        mode: match with_inputs {
            true => Mode::ImageToImage,
            false => Mode::TextToImage,
        },
    };
    let payer = payer::for_account(&accounts, &of).await?;
    let submitted = async {
        payer.check_scope(tier)?;
        load_shedding::check(&generations, payer.account()).await?;
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

/// Timeouts of reading a form: many images may take long, but not one part of them.
#[derive(Clone, Copy)]
struct FormTimeouts {
    /// Between two parts of the data.
    pause: Duration,
    whole: Duration,
}

impl FormTimeouts {
    /// Waits for the next data.
    async fn next<T>(self, next: impl Future<Output = T>) -> Result<T, Problem> {
        let stalled = |_| {
            let seconds = self.pause.as_secs();
            timed_out(format!(
                "the form is incomplete: no data for {seconds} s ([server] body_timeout_seconds)"
            ))
        };
        timeout(self.pause, next).await.map_err(stalled)
    }

    async fn read<T>(self, form: impl Future<Output = Result<T, Problem>>) -> Result<T, Problem> {
        let too_slow = |_| {
            let seconds = self.whole.as_secs();
            timed_out(format!(
                "the form did not arrive within {seconds} s ([compat] timeout_seconds); send fewer or smaller images"
            ))
        };
        timeout(self.whole, form).await.map_err(too_slow)?
    }
}

fn timed_out(detail: String) -> Problem {
    Problem::new(Code::RequestTimeout, detail)
}

fn has_input_urls(body: &[u8]) -> bool {
    serde_json::from_slice::<Value>(body).is_ok_and(|it| it.get("input_images_urls").is_some())
}

async fn receive(
    request: &HttpRequest,
    payload: web::Payload,
    generations: &GenerationService,
    account: AccountId,
    timeouts: FormTimeouts,
) -> Result<(Vec<u8>, Vec<StoredUpload>), Problem> {
    let mut inputs = generations.inputs.of(account);
    let malformed = |error| Problem::field("body", format!("is not a valid form: {error}"));
    let mut bytes_left = generations.settings.config.inputs.max_total_bytes;
    let (mut body, mut images) = (None, Vec::new());
    let mut fields = Multipart::new(request.headers(), payload);
    while let Some(field) = timeouts.next(fields.next()).await? {
        let field = field.map_err(malformed)?;
        match field.name().unwrap_or_default() {
            "request" => {
                let max = generations.settings.config.server.max_body_bytes;
                body = Some(text(field, max, timeouts).await?);
            }
            "image" if images.len() < MAX_INPUTS => {
                let name = format!("image[{}]", images.len());
                let upload = inputs.begin_upload();
                images.push(image(field, upload, &name, &mut bytes_left, timeouts).await?);
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

async fn text(mut field: Field, max: usize, timeouts: FormTimeouts) -> Result<Vec<u8>, Problem> {
    let mut text = Vec::new();
    while let Some(chunk) = timeouts.next(field.next()).await? {
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
    mut upload: BodyUpload,
    name: &str,
    bytes_left: &mut u64,
    timeouts: FormTimeouts,
) -> Result<StoredUpload, Problem> {
    let refused = |fault| upload_fault(fault, name);
    while let Some(chunk) = timeouts.next(field.next()).await? {
        let chunk = chunk.map_err(incomplete_body)?;
        let left = bytes_left.checked_sub(chunk.len() as u64);
        *bytes_left =
            left.ok_or_else(|| Problem::field(name, "the images are too large together"))?;
        upload = upload.push(chunk).await.map_err(refused)?;
    }
    Ok(upload.finish().await.map_err(refused)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;
    use tokio::time::sleep;

    const TIMEOUTS: FormTimeouts = FormTimeouts {
        pause: Duration::from_secs(30),
        whole: Duration::from_secs(280),
    };

    async fn receive(pauses: u32) -> Result<(), Problem> {
        let form = async {
            for _ in 0..pauses {
                TIMEOUTS.next(sleep(Duration::from_secs(20))).await?;
            }
            Ok(())
        };
        TIMEOUTS.read(form).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_form_may_take_longer_than_a_pause_but_has_a_deadline() {
        assert!(receive(10).await.is_ok());
        let slow = receive(100).await.expect_err("too slow").to_string();
        assert!(
            slow.contains("within 280 s ([compat] timeout_seconds)"),
            "{slow}"
        );
        let stalled = TIMEOUTS.read(TIMEOUTS.next(pending::<()>())).await;
        let stalled = stalled.expect_err("stalled").to_string();
        let expected = "no data for 30 s ([server] body_timeout_seconds)";
        assert!(stalled.contains(expected), "{stalled}");
    }
}
