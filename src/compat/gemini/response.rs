//! Responses that both SDKs read as an image: camelCase names, padded standard base64, the actual media type, and only one image
//! part, because the JavaScript SDK concatenates several.

use crate::compat::base64_body::{self, Part};
use crate::compat::jobs::job_waiter::{JobWaiter, WaitOutcome};
use crate::compat::refusal::Refusal;
use crate::compat::usage::{self, PromptTokens};
use crate::objects::media_type;
use serde_json::{Value, json};
use tintype_storage::domain::job::ResultImage;
use tintype_storage::domain::tier::{Resolution, Tier};

/// Sent with the image if the request asks for text.
pub const TEXT: &str = "Here is the image.";

/// The parts of the request that the response needs.
pub struct ResponseContext {
    /// The model id that the caller sent.
    pub model: String,
    pub tier: Tier,
    pub resolution: Resolution,
    pub prompt: PromptTokens,
    pub with_text: bool,
}

impl ResponseContext {
    /// The chunk before the image, if the request asks for text.
    pub fn text_chunk(&self, waiter: &JobWaiter) -> Option<String> {
        let candidate =
            json!({"content": {"parts": [{"text": TEXT}], "role": "model"}, "index": 0});
        self.with_text
            .then(|| self.body(waiter, candidate, None).to_string())
    }

    /// The response, or its last chunk.
    ///
    /// # Errors
    /// The image cannot be read.
    pub async fn final_parts(
        &self,
        waiter: &mut JobWaiter,
        outcome: WaitOutcome,
        with_text: bool,
    ) -> Result<Vec<Part>, Refusal> {
        let image = match outcome {
            WaitOutcome::Image(image) => image,
            WaitOutcome::Blocked(reason) => {
                let candidate = json!({
                    "finishReason": "IMAGE_SAFETY", "finishMessage": reason, "index": 0,
                });
                let body = self.body(waiter, candidate, Some(0));
                return Ok(vec![Part::Text(body.to_string())]);
            }
        };
        let image_data = waiter.open(&image).await?;
        let body = self.image_body(waiter, &image, with_text);
        Ok(base64_body::parts(&body.to_string(), [image_data]))
    }

    fn image_body(&self, waiter: &JobWaiter, image: &ResultImage, with_text: bool) -> Value {
        let mut parts = Vec::new();
        if with_text {
            parts.push(json!({"text": TEXT}));
        }
        parts.push(json!({"inlineData": {
            "mimeType": media_type(&image.key),
            "data": base64_body::place(),
        }}));
        let candidate = json!({
            "content": {"parts": parts, "role": "model"},
            "finishReason": "STOP",
            "index": 0,
        });
        let tokens = usage::image_tokens(self.tier, self.resolution);
        self.body(waiter, candidate, Some(tokens))
    }

    /// A response object. `tokens` is the number of output tokens; the usage is omitted without it.
    fn body(&self, waiter: &JobWaiter, candidate: Value, tokens: Option<u64>) -> Value {
        let mut body = json!({
            "candidates": [candidate],
            "modelVersion": self.model,
            "responseId": waiter.job.to_string(),
        });
        let Some(tokens) = tokens else { return body };
        let mut usage = json!({
            "promptTokenCount": self.prompt.total(),
            "candidatesTokenCount": tokens,
            "totalTokenCount": self.prompt.total() + tokens,
            "promptTokensDetails": self.prompt.gemini_details(),
        });
        if tokens > 0 {
            usage["candidatesTokensDetails"] = json!([{"modality": "IMAGE", "tokenCount": tokens}]);
        }
        body["usageMetadata"] = usage;
        body
    }
}
