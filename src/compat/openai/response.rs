//! Responses of the Images API.

use super::image_background;
use super::options::Options;
use crate::application::core::Core;
use crate::compat::base64_body::{self, StoredImage};
use crate::compat::dialect::Dialect;
use crate::compat::jobs::job_waiter::{JobWaiter, WaitOutcome};
use crate::compat::refusal::Refusal;
use crate::compat::response_head::image_response;
use crate::compat::usage::{self, PromptTokens};
use crate::objects::media_type;
use actix_web::HttpResponse;
use futures_util::future::join_all;
use serde_json::{Value, json};
use tintype_storage::domain::job::ResultImage;
use tokio::time::Instant;

/// Waits for all images and responds with those that were generated. `pending_jobs` lists jobs that continue, and jobs whose image
/// cannot be read: they are charged, and the caller can get their images later.
///
/// # Errors
/// No image was generated: the first failure, or if jobs are pending, the first of these with the ids of all. SDKs repeat that call.
pub async fn wait_and_respond(
    mut waiters: Vec<JobWaiter>,
    options: &Options,
    inputs: usize,
    deadline: Instant,
    core: &Core,
) -> Result<HttpResponse, Refusal> {
    let outcomes = join_all(waiters.iter_mut().map(|waiter| waiter.wait(deadline))).await;
    let is_replay = waiters.iter().any(|waiter| waiter.replayed);
    let mut images = ResponseImages::default();
    let (mut first_failure, mut first_pending) = (None, None);
    for (waiter, outcome) in waiters.into_iter().zip(outcomes) {
        let count = images.pending.len();
        let refusal = match outcome.and_then(WaitOutcome::image) {
            Ok(image) => images.add(waiter, image, options).await.err(),
            Err(refusal) => {
                images.record_pending(&waiter);
                Some(refusal)
            }
        };
        let first = match images.pending.len() > count {
            true => &mut first_pending,
            false => &mut first_failure,
        };
        *first = first.take().or(refusal);
    }
    if images.images.is_empty()
        && let Some(refusal) = first_pending.or(first_failure)
    {
        return Err(images.name_pending(refusal));
    }
    let body = body(&images, options, inputs, core.now().seconds()).to_string();
    let parts = base64_body::parts(&body, images.stored);
    Ok(image_response(
        Dialect::OpenAi,
        is_replay,
        parts,
        images.waiters,
    ))
}

/// The `usage` of a call.
pub fn usage_of(options: &Options, inputs: usize, images: usize) -> Value {
    let prompt = PromptTokens::estimate(&options.prompt, inputs);
    let each = usage::image_tokens(options.offer.tier(), options.offer.resolution());
    prompt.openai_usage(each * images as u64)
}

#[derive(Default)]
struct ResponseImages {
    images: Vec<ResultImage>,
    /// Of `data`.
    entries: Vec<Value>,
    /// The images whose content the entries have.
    stored: Vec<StoredImage>,
    /// That of the first image, if it is known.
    background: Option<&'static str>,
    /// The waiters of these images.
    waiters: Vec<JobWaiter>,
    /// Other jobs whose images the caller can get later.
    pending: Vec<String>,
}

impl ResponseImages {
    async fn add(
        &mut self,
        mut waiter: JobWaiter,
        image: ResultImage,
        options: &Options,
    ) -> Result<(), Refusal> {
        let (entry, stored) = match image_entry(&mut waiter, &image, options.as_url).await {
            Ok(entry) => entry,
            Err(refusal) => {
                self.record_pending(&waiter);
                return Err(refusal);
            }
        };
        if self.images.is_empty() {
            let has_alpha = stored.as_ref().map(|it| it.has_alpha);
            self.background = image_background::of_image(&image, options.background, has_alpha);
        }
        self.entries.push(entry);
        self.stored.extend(stored);
        self.images.push(image);
        self.waiters.push(waiter);
        Ok(())
    }

    fn record_pending(&mut self, waiter: &JobWaiter) {
        if waiter.is_retrievable() {
            self.pending.push(waiter.job.to_string());
        }
    }

    /// Adds the other pending jobs to the refusal, which names the first.
    fn name_pending(&self, refusal: Refusal) -> Refusal {
        let others = self.pending.iter().skip(1);
        let others: Vec<String> = others.map(|it| format!("/api/v1/jobs/{it}")).collect();
        if others.is_empty() {
            return refusal;
        }
        Refusal {
            message: format!("{}; also {}", refusal.message, others.join(", ")),
            ..refusal
        }
    }
}

/// The entry of an image in `data`, and the image if the entry has its content.
async fn image_entry(
    waiter: &mut JobWaiter,
    image: &ResultImage,
    as_url: bool,
) -> Result<(Value, Option<StoredImage>), Refusal> {
    Ok(match as_url {
        true => (json!({"url": waiter.presign(image).await?}), None),
        false => (base64_entry(), Some(waiter.open(image).await?)),
    })
}

/// The entry of an image in `data`, with the place of its content.
pub fn base64_entry() -> Value {
    json!({"b64_json": base64_body::place()})
}

fn body(images: &ResponseImages, options: &Options, inputs: usize, created: i64) -> Value {
    let first = images.images.first();
    let mut body = json!({
        "created": created,
        "data": images.entries,
        "output_format": first.map_or("png", format_of),
        "size": first.map_or_else(String::new, usage::size),
        "usage": usage_of(options, inputs, images.images.len()),
    });
    for (name, value) in [
        ("background", images.background),
        ("quality", options.quality),
    ] {
        if let Some(value) = value {
            body[name] = value.into();
        }
    }
    if !images.pending.is_empty() {
        body["pending_jobs"] = json!(images.pending);
    }
    body
}

/// `output_format`
pub fn format_of(image: &ResultImage) -> &'static str {
    let media_type = media_type(&image.key);
    media_type.strip_prefix("image/").unwrap_or("png")
}
