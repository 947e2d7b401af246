//! Files with the results of a batch, one line per request. Generated while the file is downloaded, so that memory holds at most one
//! image and URLs are new.

use crate::application::error::{Error, object_store_fault};
use crate::application::file_batches::{ResultsFile, ResultsKind};
use crate::application::jobs::batch_jobs::BatchJobs;
use crate::application::jobs::presign;
use crate::application::services::JobService;
use crate::compat::base64_body::{Part, StoredImage, parts, pieces, streamed_body};
use crate::compat::dialect::Dialect;
use crate::compat::jobs::job_waiter::{WaitOutcome, wait_outcome};
use crate::compat::openai::image_background;
use crate::compat::openai::response::{base64_entry, format_of};
use crate::compat::refusal::{Kind, Refusal};
use crate::compat::usage;
use crate::inputs;
use crate::objects::ObjectError;
use crate::request_text;
use actix_web::body::BoxBody;
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use std::sync::Arc;
use tintype_storage::domain::job::{FailureKind, Job, JobState, ResultImage};

pub fn body(jobs: &Arc<JobService>, file: ResultsFile) -> BoxBody {
    let lines = Lines {
        service: Arc::clone(jobs),
        jobs: BatchJobs::of(&jobs.core.store, file.batch.clone()),
        file,
    };
    let lines = stream::unfold(Some(lines), |lines| async move {
        match lines?.next().await {
            Ok(Some((line, rest))) => Some((pieces(line), Some(rest))),
            Ok(None) => None,
            // Aborts the connection, so that a client cannot mistake a part of the file for the whole.
            Err(error) => Some((stream::iter([Err(stream_error(error))]).boxed(), None)),
        }
    });
    streamed_body(lines.flatten())
}

fn stream_error(error: Error) -> object_store::Error {
    object_store::Error::Generic {
        store: "results",
        source: error.into(),
    }
}

/// The remaining lines.
struct Lines {
    service: Arc<JobService>,
    file: ResultsFile,
    jobs: BatchJobs,
}

impl Lines {
    /// The next line, and the lines after it.
    async fn next(mut self) -> Result<Option<(Vec<Part>, Self)>, Error> {
        while let Some(job) = self.jobs.next().await? {
            if let Some(line) = self.line(job).await? {
                return Ok(Some((line, self)));
            }
        }
        Ok(None)
    }

    /// The line of a job; `None` if it belongs to the other file.
    async fn line(&self, job: Job) -> Result<Option<Vec<Part>>, Error> {
        match (self.file.kind, &job.state) {
            (ResultsKind::Output, JobState::Done { image, .. }) => {
                let image = image.clone();
                self.success_line(&job, &image).await.map(Some)
            }
            (ResultsKind::Errors, JobState::Failed { .. }) => Ok(Some(failure_line(job))),
            _ => Ok(None),
        }
    }

    async fn success_line(&self, job: &Job, image: &ResultImage) -> Result<Vec<Part>, Error> {
        let (entry, stored) = if self.file.as_urls {
            let url = presign(&self.service, &image.key).await?;
            (json!({ "url": url }), None)
        } else {
            match self.open(image).await? {
                Some(stored) => (base64_entry(), Some(stored)),
                None => return Ok(missing_image_line(job)),
            }
        };
        let mut body = self.image_body(job, image, entry).await?;
        let has_alpha = stored.as_ref().map(|it| it.has_alpha);
        if let Some(word) = image_background::of_image(image, job.options().background, has_alpha) {
            body["background"] = word.into();
        }
        let line = format!("{}\n", response(job, 200, body));
        Ok(parts(&line, stored))
    }

    /// `None` if the image is no longer stored.
    async fn open(&self, image: &ResultImage) -> Result<Option<StoredImage>, Error> {
        match StoredImage::open(&self.service, &image.key).await {
            Ok(image_data) => Ok(Some(image_data)),
            Err(ObjectError::NotFound { .. }) => Ok(None),
            Err(error) => {
                let detail = "could not read an image; try again";
                Err(object_store_fault(error, "could not read an image", detail))
            }
        }
    }

    /// The response to a single request, with the entry of the image.
    async fn image_body(
        &self,
        job: &Job,
        image: &ResultImage,
        entry: Value,
    ) -> Result<Value, Error> {
        let mut body = json!({
            "created": job.state.finished_at().map(|at| at.seconds()),
            "output_format": format_of(image),
            "size": usage::size(image),
            "data": [entry],
        });
        if let Some(prompt) = self.prompt(job).await? {
            body["usage"] = usage::of_job(job, &prompt);
        }
        Ok(body)
    }

    /// `None` if the prompt is no longer stored.
    async fn prompt(&self, job: &Job) -> Result<Option<String>, Error> {
        let text = request_text::resolve(&self.service.objects, &job.prompt).await;
        let text = text.map_err(|error| {
            let detail = "could not read a prompt; try again";
            object_store_fault(error, "could not read a prompt", detail)
        })?;
        Ok(text.map(|it| it.prompt))
    }
}

fn response(job: &Job, status: u16, body: Value) -> Value {
    line(
        job,
        json!({"status_code": status, "request_id": job.id.to_string(), "body": body}),
        Value::Null,
    )
}

fn line(job: &Job, response: Value, error: Value) -> Value {
    json!({
        "id": format!("batch_req_{}", job.id),
        "custom_id": job.member().map(|it| it.custom_id()),
        "response": response,
        "error": error,
    })
}

fn refusal_line(job: &Job, refusal: &Refusal) -> Vec<Part> {
    let status = Dialect::OpenAi.status(refusal.kind).as_u16();
    let line = response(job, status, Dialect::OpenAi.body(refusal));
    vec![Part::Text(format!("{line}\n"))]
}

/// The line of a job whose image was deleted by retention.
fn missing_image_line(job: &Job) -> Vec<Part> {
    let message = "the image of this request is no longer stored";
    refusal_line(job, &Refusal::new(Kind::NoSuchObject, message))
}

fn failure_line(job: Job) -> Vec<Part> {
    if let JobState::Failed {
        error,
        kind: FailureKind::Canceled,
        ..
    } = &job.state
    {
        let error = json!({"code": "batch_cancelled", "message": error});
        return vec![Part::Text(format!("{}\n", line(&job, Value::Null, error)))];
    }
    let refusal = match wait_outcome(job.clone()) {
        Ok(WaitOutcome::Blocked(reason)) => Refusal::new(Kind::Blocked, reason),
        Ok(WaitOutcome::Image(_)) => Refusal::new(Kind::Internal, "the request has an image"),
        // The native interface has another name for the images of a line.
        Err(refusal) => Refusal {
            message: refusal.message.replace(inputs::FIELD, "images"),
            ..refusal
        },
    };
    refusal_line(&job, &refusal)
}
