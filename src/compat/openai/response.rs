//! Responses of the Images API.

use super::background;
use super::options::Options;
use crate::application::core::Core;
use crate::compat::base64_body::{self, Part, StoredImage};
use crate::compat::job_waiter::{JobWaiter, WaitOutcome, mark_answered};
use crate::compat::refusal::{Kind, Refusal};
use crate::compat::response_head::response_head;
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
        let refusal = match outcome {
            Ok(WaitOutcome::Image(image)) => images.add(waiter, image, options).await.err(),
            Ok(WaitOutcome::Blocked(reason)) => Some(Refusal::new(Kind::Blocked, reason)),
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
    let created = core.now().millis() / 1_000;
    let head = Part::Text(head(&images, options, inputs, created));
    let end = Part::Text("]}".into());
    let parts = [head].into_iter().chain(images.entries).chain([end]);
    Ok(response_head(is_replay)
        .content_type("application/json")
        .body(base64_body::sized_body(
            parts.collect(),
            mark_answered(images.waiters),
        )))
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
    entries: Vec<Part>,
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
        let (entry, has_alpha) = match image_entry(&mut waiter, &image, options.as_url).await {
            Ok(entry) => entry,
            Err(refusal) => {
                self.record_pending(&waiter);
                return Err(refusal);
            }
        };
        match self.images.is_empty() {
            true => {
                self.background = background::of_image(&image, options.background, has_alpha);
            }
            false => self.entries.push(Part::Text(",".into())),
        }
        self.entries.extend(entry);
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

/// The entry of an image in `data`, and whether its pixels may be transparent: `None` if its file is not read.
async fn image_entry(
    waiter: &mut JobWaiter,
    image: &ResultImage,
    as_url: bool,
) -> Result<(Vec<Part>, Option<bool>), Refusal> {
    if as_url {
        let entry = json!({ "url": waiter.presign(image).await? });
        return Ok((vec![Part::Text(entry.to_string())], None));
    }
    let stored = waiter.open(image).await?;
    let has_alpha = stored.has_alpha;
    Ok((base64_entry(stored), Some(has_alpha)))
}

/// The entry of an image in `data`, with its content.
pub fn base64_entry(image: StoredImage) -> Vec<Part> {
    vec![
        Part::Text("{\"b64_json\":\"".into()),
        Part::Image(Box::new(image)),
        Part::Text("\"}".into()),
    ]
}

/// The response up to the images.
fn head(images: &ResponseImages, options: &Options, inputs: usize, created: i64) -> String {
    let usage = usage_of(options, inputs, images.images.len());
    let (size, format) = images.images.first().map_or_else(
        || (String::new(), "png"),
        |image| (usage::size(image), format_of(image)),
    );
    let pending = match images.pending.is_empty() {
        true => String::new(),
        false => format!(r#","pending_jobs":{}"#, json!(images.pending)),
    };
    let quality = match options.quality {
        Some(quality) => format!(r#","quality":"{quality}""#),
        None => String::new(),
    };
    let background = match images.background {
        Some(background) => format!(r#""background":"{background}","#),
        None => String::new(),
    };
    format!(
        r#"{{"created":{created},{background}"output_format":"{format}"{quality},"size":"{size}","usage":{usage}{pending},"data":["#
    )
}

/// `output_format`
pub fn format_of(image: &ResultImage) -> &'static str {
    let media_type = media_type(&image.key);
    media_type.strip_prefix("image/").unwrap_or("png")
}
