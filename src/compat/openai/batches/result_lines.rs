//! Files with the results of a batch: a line for each request, written while the file is read, so that no more than one image is
//! in memory, and URLs are fresh.

use crate::application::error::{Error, ErrorKind};
use crate::application::file_batches::{ResultsFile, ResultsKind};
use crate::application::result_url::presign;
use crate::application::state::AppState;
use crate::compat::base64_body::{Part, Picture, pieces, streamed};
use crate::compat::dialect::Dialect;
use crate::compat::job_waiter::{Made, outcome};
use crate::compat::refusal::{Kind, Refusal};
use crate::compat::usage::{self, Prompt};
use crate::images::{self, FAULT_TARGET, ImagesError};
use crate::request_text;
use actix_web::body::BoxBody;
use actix_web::web::Data;
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use std::collections::VecDeque;
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::job::{FailureKind, Job, JobState, PromptRef, ResultImage};

/// Jobs that are read at a time.
const STEP: usize = 100;

/// The content of a file.
pub fn body(state: &Data<AppState>, file: ResultsFile) -> BoxBody {
    let lines = Lines {
        state: state.clone(),
        file,
        last: None,
        jobs: VecDeque::new(),
    };
    let lines = stream::unfold(Some(lines), |lines| async move {
        match lines?.next().await {
            Ok(Some((line, rest))) => Some((pieces(line), Some(rest))),
            Ok(None) => None,
            // Ends the connection, so that a client cannot take a part of the file for the whole.
            Err(error) => Some((stream::iter([Err(broken(error))]).boxed(), None)),
        }
    });
    streamed(lines.flatten())
}

fn broken(error: Error) -> object_store::Error {
    object_store::Error::Generic {
        store: "results",
        source: error.into(),
    }
}

/// The lines that have not been written yet.
struct Lines {
    state: Data<AppState>,
    file: ResultsFile,
    /// The last job that was read.
    last: Option<JobId>,
    jobs: VecDeque<Job>,
}

impl Lines {
    /// The next line, and those after it.
    async fn next(mut self) -> Result<Option<(Vec<Part>, Self)>, Error> {
        loop {
            while let Some(job) = self.jobs.pop_front() {
                if let Some(line) = self.line(job).await? {
                    return Ok(Some((line, self)));
                }
            }
            let batch = &self.file.batch;
            let jobs = self.state.store.jobs_of_batch(batch, self.last, STEP);
            self.jobs = jobs.await?.into();
            match self.jobs.back() {
                Some(last) => self.last = Some(last.id),
                None => return Ok(None),
            }
        }
    }

    /// The line of a job; `None` where it belongs into the other file.
    async fn line(&self, job: Job) -> Result<Option<Vec<Part>>, Error> {
        match (self.file.kind, &job.state) {
            (ResultsKind::Output, JobState::Done { image, .. }) => {
                let image = image.clone();
                self.made(&job, &image).await.map(Some)
            }
            (ResultsKind::Errors, JobState::Failed { .. }) => Ok(Some(failed(job))),
            _ => Ok(None),
        }
    }

    async fn made(&self, job: &Job, image: &ResultImage) -> Result<Vec<Part>, Error> {
        let entry = if self.file.as_urls {
            let url = presign(&self.state, &image.key).await?;
            vec![Part::Text(json!({ "url": url }).to_string())]
        } else {
            match self.open(image).await? {
                Some(picture) => vec![
                    Part::Text("{\"b64_json\":\"".into()),
                    Part::Picture(Box::new(picture)),
                    Part::Text("\"}".into()),
                ],
                None => return Ok(gone(job)),
            }
        };
        let body = self.image_body(job, image).await?;
        let (before, after) = split(&success(job, body));
        let parts = [Part::Text(before)].into_iter().chain(entry);
        Ok(parts.chain([Part::Text(after)]).collect())
    }

    /// An image that is still stored.
    async fn open(&self, image: &ResultImage) -> Result<Option<Picture>, Error> {
        match Picture::open(&self.state, &image.key).await {
            Ok(picture) => Ok(Some(picture)),
            Err(ImagesError::NotFound { .. }) => Ok(None),
            Err(error) => {
                tracing::error!(target: FAULT_TARGET, %error, "a picture could not be read");
                let detail = "an image could not be read; try again";
                Err(Error::new(ErrorKind::StorageUnavailable, detail))
            }
        }
    }

    /// What a single call answers, with [`ENTRY`] in the place of its image.
    async fn image_body(&self, job: &Job, image: &ResultImage) -> Result<Value, Error> {
        let format = images::media_type(&image.key);
        let mut body = json!({
            "created": job.state.finished_at().map(|at| at.seconds()),
            "background": "opaque",
            "output_format": format.strip_prefix("image/").unwrap_or("png"),
            "size": usage::size(image),
            "data": [ENTRY],
        });
        if let Some(prompt) = self.prompt(job).await? {
            let prompt = Prompt::of(&prompt, 0);
            let output = usage::of_picture(job.tier, job.resolution);
            body["usage"] = json!({
                "input_tokens": prompt.total(),
                "input_tokens_details": {"text_tokens": prompt.text, "image_tokens": prompt.images},
                "output_tokens": output,
                "total_tokens": prompt.total() + output,
            });
        }
        Ok(body)
    }

    /// The prompt of a job; `None` where its text is no longer stored.
    async fn prompt(&self, job: &Job) -> Result<Option<String>, Error> {
        let key = match &job.prompt {
            PromptRef::Inline(text) => return Ok(Some(text.prompt.clone())),
            PromptRef::Stored(key) => key,
        };
        match request_text::load(&self.state.images, key).await {
            Ok(text) => Ok(Some(text.prompt)),
            Err(error) if error.is_gone() => Ok(None),
            Err(error) => {
                tracing::error!(target: FAULT_TARGET, %error, "a prompt could not be read");
                let detail = "a prompt could not be read; try again";
                Err(Error::new(ErrorKind::StorageUnavailable, detail))
            }
        }
    }
}

/// Stands for the image in a line. Nothing that a caller wrote comes after it.
const ENTRY: &str = "\u{1}";

/// The line around its image, with its end.
fn split(line: &Value) -> (String, String) {
    let text = format!("{line}\n");
    let mark = json!(ENTRY).to_string();
    let around = text.rsplit_once(&mark);
    around.map_or_else(
        || (text.clone(), String::new()),
        |(before, after)| (before.to_owned(), after.to_owned()),
    )
}

fn success(job: &Job, body: Value) -> Value {
    response(job, 200, body)
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

fn refused(job: &Job, refusal: &Refusal) -> Vec<Part> {
    let status = Dialect::OpenAi.status(refusal.kind).as_u16();
    let line = response(job, status, Dialect::OpenAi.body(refusal));
    vec![Part::Text(format!("{line}\n"))]
}

/// The line of a job whose image retention has removed.
fn gone(job: &Job) -> Vec<Part> {
    let message = "the image of this request is no longer stored";
    refused(job, &Refusal::new(Kind::NoSuchObject, message))
}

/// The line of a job that failed.
fn failed(job: Job) -> Vec<Part> {
    if let JobState::Failed {
        error,
        kind: FailureKind::Canceled,
        ..
    } = &job.state
    {
        let error = json!({"code": "batch_cancelled", "message": error});
        return vec![Part::Text(format!("{}\n", line(&job, Value::Null, error)))];
    }
    let refusal = match outcome(job.clone()) {
        Ok(Made::Blocked(reason)) => Refusal::new(Kind::Blocked, reason),
        Ok(Made::Picture(_)) => Refusal::new(Kind::Internal, "the request has an image"),
        Err(refusal) => refusal,
    };
    refused(&job, &refusal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_split_where_its_image_goes() {
        let line = json!({"custom_id": "a\u{1}b", "data": [ENTRY]});
        let (before, after) = split(&line);
        assert!(before.ends_with("\"data\":["), "{before}");
        assert_eq!(after, "]}\n");
    }
}
