//! Answers of the Images API.

use super::wanted::Wanted;
use crate::compat::assembled::{self, Part, Picture};
use crate::compat::caller::{Caller, Made};
use crate::compat::refusal::{Kind, Refusal};
use crate::compat::usage::{self, Prompt};
use crate::http::jobs;
use crate::http::state::AppState;
use crate::images;
use actix_web::http::header;
use actix_web::{HttpResponse, web};
use futures_util::future::join_all;
use serde_json::json;
use tintype_storage::domain::job::ResultImage;
use tokio::time::Instant;

/// Waits for all pictures and answers with those that were made.
///
/// # Errors
/// None was made; then with the first reason.
pub async fn when_made(
    mut callers: Vec<Caller>,
    wanted: &Wanted,
    inputs: usize,
    until: Instant,
    state: &web::Data<AppState>,
) -> Result<HttpResponse, Refusal> {
    let outcomes = join_all(callers.iter_mut().map(|caller| caller.wait(until))).await;
    let (mut made, mut first_refusal) = (Vec::new(), None);
    for outcome in outcomes {
        match outcome {
            Ok(Made::Picture(image)) => made.push(image),
            Ok(Made::Blocked(reason)) => {
                first_refusal.get_or_insert(Refusal::new(Kind::Blocked, reason));
            }
            Err(refusal) => {
                first_refusal.get_or_insert(refusal);
            }
        }
    }
    if let (true, Some(refusal)) = (made.is_empty(), first_refusal) {
        return Err(refusal);
    }
    let parts = parts(&made, wanted, inputs, state).await?;
    let mut response = HttpResponse::Ok();
    response.insert_header((header::CACHE_CONTROL, "no-store"));
    if callers.iter().any(|caller| caller.replayed) {
        response.insert_header(("Idempotent-Replayed", "true"));
    }
    Ok(response
        .content_type("application/json")
        .body(assembled::sized(parts)))
}

async fn parts(
    made: &[ResultImage],
    wanted: &Wanted,
    inputs: usize,
    state: &AppState,
) -> Result<Vec<Part>, Refusal> {
    let prompt = Prompt::of(&wanted.prompt, inputs);
    let output = usage::of_picture(wanted.tier, wanted.resolution) * made.len() as u64;
    let usage = json!({
        "input_tokens": prompt.total(),
        "input_tokens_details": {"text_tokens": prompt.text, "image_tokens": prompt.images},
        "output_tokens": output,
        "total_tokens": prompt.total() + output,
    });
    let created = state.now().millis() / 1_000;
    let (size, format) = made.first().map_or_else(
        || (String::new(), "png"),
        |image| (usage::size(image), format_of(image)),
    );
    let head = format!(
        r#"{{"created":{created},"background":"opaque","output_format":"{format}","size":"{size}","usage":{usage},"data":["#
    );
    let mut parts = vec![Part::Text(head)];
    for (at, image) in made.iter().enumerate() {
        let comma = if at > 0 { "," } else { "" };
        if wanted.as_url {
            let entry = json!({ "url": presigned(state, &image.key).await? });
            parts.push(Part::Text(format!("{comma}{entry}")));
            continue;
        }
        let picture = Picture::open(state, &image.key).await?;
        parts.push(Part::Text(format!("{comma}{{\"b64_json\":\"")));
        parts.push(Part::Picture(Box::new(picture)));
        parts.push(Part::Text("\"}".into()));
    }
    parts.push(Part::Text("]}".into()));
    Ok(parts)
}

fn format_of(image: &ResultImage) -> &'static str {
    let media_type = images::media_type(&image.key);
    media_type.strip_prefix("image/").unwrap_or("png")
}

async fn presigned(state: &AppState, key: &str) -> Result<String, Refusal> {
    let signed = jobs::presign(state, key).await;
    signed.map_err(|problem| Refusal::new(Kind::Unavailable, problem.detail))
}
