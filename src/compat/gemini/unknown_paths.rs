//! Responses for paths of Google's API that are not served.

use crate::compat::dialect::Dialect;
use crate::compat::refusal::{Kind, Refusal};
use crate::compat::wrong_base_url::base_url_advice;
use actix_web::{HttpRequest, HttpResponse};

const SERVED: &str = "this interface serves generateContent, streamGenerateContent and countTokens of /v1beta/models/{model}, the list at /v1beta/models, and /v1beta/interactions";
const ONLY_IMAGES: &str = "the models only generate images; call generateContent";
const BATCHES: &str = "call generateContent for each request, or submit a batch at POST /api/v1/batches, or as a file at POST /v1/batches with an OpenAI SDK";

/// Resources and methods of Google's API, and what to do instead.
const ALTERNATIVES: [(&str, &str); 10] = [
    (
        "files",
        "files cannot be uploaded; send each image in its request as `inlineData`, or as `fileData` with an http(s) URL in `fileUri`",
    ),
    (
        "cachedContents",
        "contents are not cached; send all of them in each request",
    ),
    ("batches", BATCHES),
    ("batchGenerateContent", BATCHES),
    ("asyncBatchEmbedContent", ONLY_IMAGES),
    ("batchEmbedContents", ONLY_IMAGES),
    ("embedContent", ONLY_IMAGES),
    ("bidiGenerateContent", ONLY_IMAGES),
    (
        "predict",
        "the method `predict` is not supported; call generateContent, which generates images too",
    ),
    ("predictLongRunning", ONLY_IMAGES),
];

pub async fn not_found(request: HttpRequest) -> HttpResponse {
    Dialect::Gemini.response(&refusal(&request))
}

pub fn refusal(request: &HttpRequest) -> Refusal {
    let (method, path) = (request.method(), request.path());
    let message = format!("unknown path: {method} {path}; {}", alternative(path));
    Refusal::new(Kind::NotFound, message)
}

fn alternative(path: &str) -> &'static str {
    if let Some(advice) = base_url_advice(Dialect::Gemini, path) {
        return advice;
    }
    let mut words = path.split(['/', ':']);
    words
        .find_map(|word| ALTERNATIVES.iter().find(|(name, _)| *name == word))
        .map_or(SERVED, |(_, instead)| instead)
}
