//! Answers of the Images API.

use super::options::Options;
use crate::application::state::AppState;
use crate::compat::base64_body::{self, Part};
use crate::compat::job_waiter::{JobWaiter, Made, answered};
use crate::compat::refusal::{Kind, Refusal};
use crate::compat::usage::{self, Prompt};
use crate::images;
use actix_web::HttpResponse;
use actix_web::http::header;
use futures_util::future::join_all;
use serde_json::json;
use tintype_storage::domain::job::ResultImage;
use tokio::time::Instant;

/// Waits for all pictures and answers with those that were made. The jobs of others that go on, or whose pictures cannot be
/// read, are named: they are charged, and their pictures can be had later.
///
/// # Errors
/// None was made; then with the first reason.
pub async fn when_made(
    mut callers: Vec<JobWaiter>,
    options: &Options,
    inputs: usize,
    until: Instant,
    state: &AppState,
) -> Result<HttpResponse, Refusal> {
    let outcomes = join_all(callers.iter_mut().map(|caller| caller.wait(until))).await;
    let is_replay = callers.iter().any(|caller| caller.replayed);
    let mut shown = Shown::default();
    let mut first_refusal = None;
    for (caller, outcome) in callers.into_iter().zip(outcomes) {
        let refusal = match outcome {
            Ok(Made::Picture(image)) => shown.add(caller, image, options.as_url).await.err(),
            Ok(Made::Blocked(reason)) => Some(Refusal::new(Kind::Blocked, reason)),
            Err(refusal) => {
                shown.leave_out(&caller);
                Some(refusal)
            }
        };
        first_refusal = first_refusal.or(refusal);
    }
    if let (true, Some(refusal)) = (shown.images.is_empty(), first_refusal) {
        return Err(refusal);
    }
    let mut response = HttpResponse::Ok();
    response.insert_header((header::CACHE_CONTROL, "no-store"));
    if is_replay {
        response.insert_header(("Idempotent-Replayed", "true"));
    }
    let created = state.now().millis() / 1_000;
    let parts = parts(&shown, options, inputs, created);
    let parts = parts.into_iter().chain(shown.entries).chain([end()]);
    Ok(response
        .content_type("application/json")
        .body(base64_body::sized(parts.collect(), answered(shown.callers))))
}

/// The pictures of an answer.
#[derive(Default)]
struct Shown {
    images: Vec<ResultImage>,
    entries: Vec<Part>,
    /// Those whose pictures these are.
    callers: Vec<JobWaiter>,
    /// Jobs whose pictures are not among them and can be had later.
    pending: Vec<String>,
}

impl Shown {
    async fn add(
        &mut self,
        mut caller: JobWaiter,
        image: ResultImage,
        as_url: bool,
    ) -> Result<(), Refusal> {
        let entry = match entry(&mut caller, &image, as_url).await {
            Ok(entry) => entry,
            Err(refusal) => {
                self.leave_out(&caller);
                return Err(refusal);
            }
        };
        if !self.images.is_empty() {
            self.entries.push(Part::Text(",".into()));
        }
        self.entries.extend(entry);
        self.images.push(image);
        self.callers.push(caller);
        Ok(())
    }

    fn leave_out(&mut self, caller: &JobWaiter) {
        if caller.is_kept() {
            self.pending.push(caller.job.to_string());
        }
    }
}

async fn entry(
    caller: &mut JobWaiter,
    image: &ResultImage,
    as_url: bool,
) -> Result<Vec<Part>, Refusal> {
    if as_url {
        let entry = json!({ "url": caller.presign(image).await? });
        return Ok(vec![Part::Text(entry.to_string())]);
    }
    let picture = caller.open(image).await?;
    Ok(vec![
        Part::Text("{\"b64_json\":\"".into()),
        Part::Picture(Box::new(picture)),
        Part::Text("\"}".into()),
    ])
}

/// What goes before the pictures.
fn parts(shown: &Shown, options: &Options, inputs: usize, created: i64) -> Vec<Part> {
    let prompt = Prompt::of(&options.prompt, inputs);
    let output = usage::of_picture(options.offer.tier(), options.offer.resolution())
        * shown.images.len() as u64;
    let usage = json!({
        "input_tokens": prompt.total(),
        "input_tokens_details": {"text_tokens": prompt.text, "image_tokens": prompt.images},
        "output_tokens": output,
        "total_tokens": prompt.total() + output,
    });
    let (size, format) = shown.images.first().map_or_else(
        || (String::new(), "png"),
        |image| (usage::size(image), format_of(image)),
    );
    let pending = match shown.pending.is_empty() {
        true => String::new(),
        false => format!(r#","pending_jobs":{}"#, json!(shown.pending)),
    };
    let head = format!(
        r#"{{"created":{created},"background":"opaque","output_format":"{format}","size":"{size}","usage":{usage}{pending},"data":["#
    );
    vec![Part::Text(head)]
}

fn end() -> Part {
    Part::Text("]}".into())
}

fn format_of(image: &ResultImage) -> &'static str {
    let media_type = images::media_type(&image.key);
    media_type.strip_prefix("image/").unwrap_or("png")
}
