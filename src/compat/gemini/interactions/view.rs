//! Interactions as the SDKs read them, made from the records of jobs.

use crate::compat::base64_body::{self, Part, StoredImage};
use crate::compat::dialect::Dialect;
use crate::compat::gemini::response::TEXT;
use crate::compat::jobs::job_waiter::{WaitOutcome, wait_outcome};
use crate::compat::refusal::Refusal;
use crate::compat::state::CompatState;
use crate::compat::usage::{PromptTokens, image_tokens};
use crate::objects::media_type;
use crate::request_text;
use actix_web::HttpRequest;
use actix_web::web::Data;
use serde_json::{Value, json};
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::job::{FailureKind, Job, JobState};

/// The SDKs before version 2 say this, and read `outputs`.
const FIRST_SDK: &str = "google-genai-sdk/1.";
/// The code of an error that a safety filter caused.
const BLOCKED: &str = "IMAGE_SAFETY";

/// Where the caller finds the image. An image in both places would be sent twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Steps,
    Outputs,
}

impl Shape {
    pub fn of(request: &HttpRequest) -> Self {
        let client = request.headers().get("x-goog-api-client");
        let client = client.and_then(|it| it.to_str().ok()).unwrap_or_default();
        match client.contains(FIRST_SDK) {
            true => Self::Outputs,
            false => Self::Steps,
        }
    }
}

/// What a response contains besides the record.
pub struct View {
    pub state: Data<CompatState>,
    pub shape: Shape,
    /// The model id that the caller sent; `None`: the name of the tier.
    pub model: Option<String>,
    pub previous: Option<JobId>,
    /// Add a text to the image.
    pub with_text: bool,
}

impl View {
    pub fn of_record(state: &Data<CompatState>, shape: Shape) -> Self {
        Self {
            state: state.clone(),
            shape,
            model: None,
            previous: None,
            with_text: false,
        }
    }

    /// The body of the response, with the image of a job that is done.
    pub async fn parts(&self, job: &Job, image: Option<StoredImage>) -> Vec<Part> {
        let mut body = self.members(job, status(job));
        let mut content = Vec::new();
        if let (Some(stored), true) = (job.result_image(), image.is_some()) {
            if self.with_text {
                content.push(json!({"type": "text", "text": TEXT}));
            }
            content.push(image_content(&stored.key));
            body["usage"] = self.usage(job).await;
        } else if let Some(error) = failure(job) {
            body["errors"] = json!([error]);
        }
        self.put_content(&mut body, content);
        base64_body::parts(&body.to_string(), image)
    }

    /// The response to a creation in the background, which is the same if the call is repeated.
    pub fn started(&self, job: &Job) -> Vec<Part> {
        let mut body = self.members(job, "in_progress");
        body["updated"] = body["created"].clone();
        self.put_content(&mut body, Vec::new());
        vec![Part::Text(body.to_string())]
    }

    fn put_content(&self, body: &mut Value, content: Vec<Value>) {
        match self.shape {
            Shape::Outputs => body["outputs"] = content.into(),
            Shape::Steps if content.is_empty() => body["steps"] = json!([]),
            Shape::Steps => {
                body["steps"] = json!([{"type": "model_output", "content": content}]);
            }
        }
    }

    /// The members that every form of an interaction has.
    pub fn members(&self, job: &Job, status: &str) -> Value {
        let started = match &job.state {
            JobState::Processing { started_at, .. } => Some(*started_at),
            _ => None,
        };
        let updated = job.state.finished_at().or(started);
        let mut members = json!({
            "id": job.id.to_string(),
            "object": "interaction",
            "model": self.model.as_deref().unwrap_or(job.tier.as_str()),
            "status": status,
            "role": "model",
            "created": job.created_at.to_string(),
            "updated": updated.unwrap_or(job.created_at).to_string(),
        });
        if let Some(previous) = self.previous {
            members["previous_interaction_id"] = previous.to_string().into();
        }
        members
    }

    /// Estimated token counts, without those of a prompt that cannot be read.
    pub async fn usage(&self, job: &Job) -> Value {
        let text = request_text::resolve(&self.state.jobs.objects, &job.prompt).await;
        let text = text.ok().flatten().unwrap_or_default();
        let input = PromptTokens::estimate(&text.prompt, job.inputs.len());
        let output = image_tokens(job.tier, job.resolution);
        let of = |modality: &str, tokens: u64| json!({"modality": modality, "tokens": tokens});
        let mut inputs = vec![of("text", input.text)];
        if input.images > 0 {
            inputs.push(of("image", input.images));
        }
        json!({
            "total_input_tokens": input.total(),
            "input_tokens_by_modality": inputs,
            "total_output_tokens": output,
            "output_tokens_by_modality": [of("image", output)],
            "total_tokens": input.total() + output,
        })
    }
}

pub fn image_content(key: &str) -> Value {
    json!({"type": "image", "mime_type": media_type(key), "data": base64_body::place()})
}

pub fn status(job: &Job) -> &'static str {
    match &job.state {
        JobState::Queued | JobState::Processing { .. } => "in_progress",
        JobState::Done { .. } => "completed",
        JobState::Failed {
            kind: FailureKind::Canceled,
            ..
        } => "cancelled",
        JobState::Failed { .. } => "failed",
    }
}

/// The error of a failed job.
pub fn failure(job: &Job) -> Option<Value> {
    if !matches!(job.state, JobState::Failed { .. }) {
        return None;
    }
    match wait_outcome(job.clone()) {
        Ok(WaitOutcome::Blocked(reason)) => Some(json!({"code": BLOCKED, "message": reason})),
        Ok(WaitOutcome::Image(_)) => None,
        Err(refusal) => Some(error_of(&refusal)),
    }
}

pub fn error_of(refusal: &Refusal) -> Value {
    json!({"code": Dialect::Gemini.code(refusal), "message": refusal.message})
}
