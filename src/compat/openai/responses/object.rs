//! A Response object, made from the record of its job.

use crate::compat::base64_body::{self, Part, StoredImage};
use crate::compat::jobs::job_waiter::{WaitOutcome, wait_outcome};
use crate::compat::openai::image_background;
use crate::compat::openai::object_ids::{image_call_id, response_id};
use crate::compat::openai::options::Options;
use crate::compat::openai::response::format_of;
use crate::compat::refusal::{Kind, Refusal};
use crate::compat::state::CompatState;
use crate::compat::usage;
use crate::request_text;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tintype_storage::domain::image_options::Background;
use tintype_storage::domain::job::{FailureKind, Job, JobState, Origin, PromptText, ResultImage};
use tintype_storage::domain::output_format::OutputFormat;

pub struct ResponseObject {
    pub job: Job,
    text: PromptText,
    /// The model that the caller named. A later lookup says the name of the tier.
    model: String,
    quality: &'static str,
    /// Known while the request is.
    previous: Option<String>,
}

/// `status`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Queued,
    InProgress,
    Completed,
    Failed,
    Cancelled,
}

impl Status {
    pub fn of(job: &Job) -> Self {
        match &job.state {
            JobState::Queued => Self::Queued,
            JobState::Processing { .. } => Self::InProgress,
            JobState::Done { .. } => Self::Completed,
            JobState::Failed {
                kind: FailureKind::Canceled,
                ..
            } => Self::Cancelled,
            JobState::Failed { .. } => Self::Failed,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

impl ResponseObject {
    /// A text that cannot be read is left out: the response only counts its characters, and repeats its metadata.
    pub async fn of_job(state: &CompatState, job: Job) -> Self {
        let text = request_text::resolve(&state.jobs.objects, &job.prompt).await;
        let text = text.unwrap_or_else(|error| {
            tracing::warn!(job = %job.id, %error, "could not read the text of a job");
            None
        });
        Self {
            model: job.tier.to_string(),
            text: text.unwrap_or_default(),
            quality: "auto",
            previous: None,
            job,
        }
    }

    /// Repeats what only the request says.
    pub fn of_request(self, model: String, previous: Option<String>, options: &Options) -> Self {
        Self {
            model,
            previous,
            quality: options.quality.unwrap_or(self.quality),
            ..self
        }
    }

    /// The same object with a newer record.
    pub fn with_job(&self, job: Job) -> Self {
        Self {
            job,
            text: self.text.clone(),
            model: self.model.clone(),
            previous: self.previous.clone(),
            ..*self
        }
    }

    /// The object in the state of its job. `image` is that of a job that is done.
    pub fn parts(&self, image: Option<(&ResultImage, StoredImage)>) -> Vec<Part> {
        if let Some((image, stored)) = image {
            let body = self.completed(image, stored.has_alpha);
            return base64_body::parts(&body.to_string(), [stored]);
        }
        let status = Status::of(&self.job);
        let image = wait_outcome(self.job.clone()).and_then(WaitOutcome::image);
        let body = match (status, image) {
            (Status::InProgress, _) => self.body(status, [self.item("generating")]),
            (Status::Failed, Err(refusal)) => self.failed(refusal.kind, &refusal.message),
            _ => self.body(status, []),
        };
        vec![Part::Text(body.to_string())]
    }

    /// The object with the place of its image.
    pub fn completed(&self, image: &ResultImage, has_alpha: bool) -> Value {
        self.body(Status::Completed, [self.image_item(image, has_alpha)])
    }

    /// The object of a job that failed, or was canceled.
    pub fn failed(&self, kind: Kind, message: &str) -> Value {
        if kind == Kind::Canceled {
            return self.body(Status::Cancelled, []);
        }
        let blocked = (kind == Kind::Blocked).then(|| {
            let mut item = self.item("failed");
            item["error"] = json!({
                "type": "image_generation_user_error",
                "code": "moderation_blocked",
                "message": message,
                "param": null,
            });
            item
        });
        let mut body = self.body(Status::Failed, blocked);
        body["error"] = json!({"code": error_code(kind), "message": message});
        body
    }

    /// The output item without its image.
    pub fn item(&self, status: &str) -> Value {
        json!({
            "id": image_call_id(self.job.id),
            "type": "image_generation_call",
            "status": status,
            "result": null,
        })
    }

    /// The output item with the place of its image.
    pub fn image_item(&self, image: &ResultImage, has_alpha: bool) -> Value {
        let mut item = self.item("completed");
        let asked = self.job.options().background;
        item["result"] = base64_body::place().into();
        item["action"] = match usage::input_images(&self.job) {
            0 => "generate".into(),
            _ => "edit".into(),
        };
        item["background"] = image_background::of_image(image, asked, Some(has_alpha)).into();
        item["output_format"] = format_of(image).into();
        item["quality"] = self.quality.into();
        item["size"] = usage::size(image).into();
        item
    }

    /// The object with these output items.
    pub fn body(&self, status: Status, output: impl IntoIterator<Item = Value>) -> Value {
        let job = &self.job;
        let finished_at = match &job.state {
            JobState::Done { finished_at, .. } => Some(finished_at.seconds()),
            _ => None,
        };
        let metadata = self.text.metadata.clone();
        let metadata = metadata.and_then(|text| RawValue::from_string(text).ok());
        json!({
            "id": response_id(job.id),
            "object": "response",
            "created_at": job.created_at.seconds(),
            "completed_at": finished_at,
            "status": status.as_str(),
            "background": job.origin == Origin::Background,
            "error": null,
            "incomplete_details": null,
            "instructions": null,
            "max_output_tokens": null,
            "metadata": metadata.map_or_else(|| json!({}), |it| json!(it)),
            "model": self.model,
            "output": Vec::from_iter(output),
            "parallel_tool_calls": false,
            "previous_response_id": self.previous,
            "reasoning": null,
            "store": true,
            "temperature": null,
            "text": {"format": {"type": "text"}},
            "tool_choice": {"type": "image_generation"},
            "tools": [self.tool()],
            "top_p": null,
            "truncation": "disabled",
            "usage": (status == Status::Completed).then(|| self.usage()),
            "user": null,
        })
    }

    fn tool(&self) -> Value {
        let options = self.job.options();
        let (width, height) = self.job.ratio.pixels(self.job.tier, self.job.resolution);
        let mut tool = json!({
            "type": "image_generation",
            "background": match options.background {
                None => "auto",
                Some(Background::Opaque) => "opaque",
                Some(Background::Transparent) => "transparent",
            },
            "quality": self.quality,
            "size": format!("{width}x{height}"),
        });
        if let Some(output) = options.output {
            let (format, compression) = match output {
                OutputFormat::Png => ("png", 100),
                OutputFormat::Jpeg { quality } => ("jpeg", quality),
                OutputFormat::WebP => ("webp", 100),
            };
            tool["output_format"] = format.into();
            tool["output_compression"] = compression.into();
        }
        tool
    }

    /// The names of this API differ from those of the Images API.
    fn usage(&self) -> Value {
        let mut usage = usage::of_job(&self.job, &self.text.prompt);
        usage["input_tokens_details"] = json!({"cached_tokens": 0, "cache_write_tokens": 0});
        usage["output_tokens_details"] = json!({"reasoning_tokens": 0});
        usage
    }
}

/// The codes that the SDKs know.
fn error_code(kind: Kind) -> &'static str {
    match kind {
        Kind::Blocked => "image_content_policy_violation",
        Kind::Invalid => "invalid_prompt",
        _ => "server_error",
    }
}

/// Did the job fail, or does only this caller not get its image?
pub fn is_failure_of_job(refusal: &Refusal) -> bool {
    matches!(
        refusal.kind,
        Kind::Blocked | Kind::Invalid | Kind::Canceled | Kind::Internal
    )
}
