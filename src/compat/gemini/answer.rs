//! Answers that both SDKs turn into a picture: camelCase names, standard base64 with padding, the true media type, and one
//! image part alone, because the JavaScript SDK glues several together.

use crate::compat::base64_body::Part;
use crate::compat::job_waiter::{JobWaiter, Made};
use crate::compat::refusal::Refusal;
use crate::compat::usage::{self, Prompt};
use crate::images;
use actix_web::http::header;
use actix_web::{HttpResponse, HttpResponseBuilder};
use serde_json::{Value, json};
use tintype_storage::domain::job::ResultImage;
use tintype_storage::domain::tier::{Resolution, Tier};

/// The text that goes with a picture, where a text is asked for.
const TEXT: &str = "Here is the picture.";
/// Where the picture's text goes. No other member holds it.
const PLACE: &str = "\u{0}";

/// What an answer needs to know of its question.
pub struct Answer {
    /// The id that the caller has used.
    pub model: String,
    /// The model.
    pub tier: Tier,
    /// The size that was asked for.
    pub resolution: Resolution,
    /// What went in.
    pub prompt: Prompt,
    /// Is a text wanted?
    pub with_text: bool,
}

/// The head of an answer.
pub fn response(caller: &JobWaiter) -> HttpResponseBuilder {
    let mut response = HttpResponse::Ok();
    response.insert_header((header::CACHE_CONTROL, "no-store"));
    if caller.replayed {
        response.insert_header(("Idempotent-Replayed", "true"));
    }
    response
}

impl Answer {
    /// What is streamed before the picture.
    pub fn text_chunk(&self, caller: &JobWaiter) -> Option<String> {
        let candidate =
            json!({"content": {"parts": [{"text": TEXT}], "role": "model"}, "index": 0});
        self.with_text
            .then(|| self.body(caller, candidate, None).to_string())
    }

    /// The answer, or the last chunk of it.
    ///
    /// # Errors
    /// The picture cannot be read.
    pub async fn last(
        &self,
        caller: &mut JobWaiter,
        made: Made,
        with_text: bool,
    ) -> Result<Vec<Part>, Refusal> {
        let image = match made {
            Made::Picture(image) => image,
            Made::Blocked(reason) => {
                let candidate = json!({
                    "finishReason": "IMAGE_SAFETY", "finishMessage": reason, "index": 0,
                });
                let body = self.body(caller, candidate, Some(0));
                return Ok(vec![Part::Text(body.to_string())]);
            }
        };
        let picture = caller.open(&image).await?;
        let body = self.with_picture(caller, &image, with_text).to_string();
        // Written as an escape by every JSON writer.
        let (before, after) = body.split_once("\\u0000").unwrap_or((&body, ""));
        Ok(vec![
            Part::Text(before.to_owned()),
            Part::Picture(Box::new(picture)),
            Part::Text(after.to_owned()),
        ])
    }

    fn with_picture(&self, caller: &JobWaiter, image: &ResultImage, with_text: bool) -> Value {
        let mut parts = Vec::new();
        if with_text {
            parts.push(json!({"text": TEXT}));
        }
        parts.push(json!({"inlineData": {
            "mimeType": images::media_type(&image.key),
            "data": PLACE,
        }}));
        let candidate = json!({
            "content": {"parts": parts, "role": "model"},
            "finishReason": "STOP",
            "index": 0,
        });
        let tokens = usage::of_picture(self.tier, self.resolution);
        self.body(caller, candidate, Some(tokens))
    }

    /// A response object; with the usage when `tokens` came out.
    fn body(&self, caller: &JobWaiter, candidate: Value, tokens: Option<u64>) -> Value {
        let mut body = json!({
            "candidates": [candidate],
            "modelVersion": self.model,
            "responseId": caller.job.to_string(),
        });
        let Some(tokens) = tokens else { return body };
        let mut went_in = vec![json!({"modality": "TEXT", "tokenCount": self.prompt.text})];
        if self.prompt.images > 0 {
            went_in.push(json!({"modality": "IMAGE", "tokenCount": self.prompt.images}));
        }
        let mut usage = json!({
            "promptTokenCount": self.prompt.total(),
            "candidatesTokenCount": tokens,
            "totalTokenCount": self.prompt.total() + tokens,
            "promptTokensDetails": went_in,
        });
        if tokens > 0 {
            usage["candidatesTokensDetails"] = json!([{"modality": "IMAGE", "tokenCount": tokens}]);
        }
        body["usageMetadata"] = usage;
        body
    }
}
