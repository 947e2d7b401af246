//! A small client of the native interface, for commands that talk to a server.

use super::http_client::{Body, HttpClient, Response, did_not_arrive};
use super::refusal::refusal;
use anyhow::{Context as _, bail};
use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tintype_api::{Batch, BatchEstimate, CreatedJob, Job, Listing};
use tintype_egress::{Method, StatusCode};
use tintype_storage::domain::ids::BatchId;

const NOT_TINTYPE: &str = "the answer is not from Tintype; check --server";
/// Largest image accepted; a 4K PNG of noise has about 60 MB.
const MAX_PICTURE: usize = 256 * 1024 * 1024;
const MAX_ANSWER: usize = 1024 * 1024;

/// A server with a key.
pub struct NativeClient {
    http: HttpClient,
    base: String,
    key: String,
}

impl NativeClient {
    /// A client of the server at `base`, without `/api/v1`.
    pub fn new(base: &str, key: &str) -> anyhow::Result<Self> {
        Ok(Self {
            http: HttpClient::new()?,
            base: base.trim_end_matches('/').to_owned(),
            key: key.to_owned(),
        })
    }

    /// Posts a job under an `Idempotency-Key`; returns the path of its status.
    ///
    /// # Errors
    /// Why there is no job. Where the answer was lost, the text says what to do, because the job may exist.
    pub async fn create(
        &self,
        path: &str,
        body: &Value,
        idempotency_key: &str,
    ) -> anyhow::Result<String> {
        let path = format!("/api/v1{path}");
        let body = Some(Body::json(body));
        let answer = self
            .call(Method::POST, &path, body, Some(idempotency_key))
            .await
            .map_err(|error| unanswered(&error, idempotency_key, "the job"))?;
        if answer.status != StatusCode::ACCEPTED {
            bail!(refusal(answer.status, &answer.body));
        }
        let created: CreatedJob = serde_json::from_slice(&answer.body).context(NOT_TINTYPE)?;
        Ok(created.status_url.into())
    }

    /// Looks up a job. The server answers when the job has ended, or after `wait` seconds.
    pub async fn look_up(&self, status_url: &str, wait: u64) -> anyhow::Result<Job<'static>> {
        let path = format!("{status_url}?wait={wait}");
        let answer = self.call(Method::GET, &path, None, None).await?;
        if answer.status != StatusCode::OK {
            bail!(refusal(answer.status, &answer.body));
        }
        serde_json::from_slice(&answer.body).context(NOT_TINTYPE)
    }

    /// Submits a batch under an `Idempotency-Key`.
    ///
    /// # Errors
    /// As of [`NativeClient::create`].
    pub async fn submit(&self, body: Body, idempotency_key: &str) -> anyhow::Result<Batch> {
        let path = "/api/v1/batches";
        let answer = self
            .call(Method::POST, path, Some(body), Some(idempotency_key))
            .await
            .map_err(|error| unanswered(&error, idempotency_key, "the batch"))?;
        read(&answer, StatusCode::ACCEPTED)
    }

    /// What a batch would cost.
    pub async fn estimate(&self, body: Body) -> anyhow::Result<BatchEstimate> {
        let path = "/api/v1/batches?dry_run=true";
        let answer = self.call(Method::POST, path, Some(body), None).await?;
        read(&answer, StatusCode::OK)
    }

    /// Looks up a batch. The server answers when the batch has ended, or after `wait` seconds.
    pub async fn batch(&self, id: BatchId, wait: u64) -> anyhow::Result<Batch> {
        let path = format!("/api/v1/batches/{id}?wait={wait}");
        read(
            &self.call(Method::GET, &path, None, None).await?,
            StatusCode::OK,
        )
    }

    /// A page of batches, newest first.
    pub async fn batches(&self, limit: u8, cursor: Option<&str>) -> anyhow::Result<Listing<Batch>> {
        let cursor = cursor.map(|it| format!("&cursor={it}")).unwrap_or_default();
        let path = format!("/api/v1/batches?limit={limit}{cursor}");
        read(
            &self.call(Method::GET, &path, None, None).await?,
            StatusCode::OK,
        )
    }

    /// Cancels what is still queued of a batch.
    pub async fn cancel_batch(&self, id: BatchId) -> anyhow::Result<Batch> {
        let path = format!("/api/v1/batches/{id}");
        read(
            &self.call(Method::DELETE, &path, None, None).await?,
            StatusCode::OK,
        )
    }

    /// Hands each line of a batch's results to `each`.
    pub async fn results(
        &self,
        id: BatchId,
        mut each: impl FnMut(&[u8]) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let url = format!("{}/api/v1/batches/{id}/results", self.base);
        let mut rest: Vec<u8> = Vec::new();
        let lines = |chunk: &[u8]| {
            rest.extend_from_slice(chunk);
            let Some(end) = rest.iter().rposition(|byte| *byte == b'\n') else {
                return Ok(());
            };
            let complete = rest.drain(..=end).collect::<Vec<u8>>();
            let mut lines = complete.split(|byte| *byte == b'\n');
            lines.try_for_each(|line| match line.is_empty() {
                true => Ok(()),
                false => each(line),
            })
        };
        let refused = self.http.stream(&url, &self.key, lines).await;
        let refused = refused.with_context(|| format!("the results of {} broke off", self.base))?;
        match refused {
            Some(answer) => bail!(refusal(answer.status, &answer.body)),
            None => Ok(()),
        }
    }

    /// A fresh download URL of the image of a job that is done.
    pub async fn image_url(&self, job: &str) -> anyhow::Result<String> {
        let job = self.look_up(&format!("/api/v1/jobs/{job}"), 0).await?;
        let result = job.result.context("the job has no image")?;
        Ok(result.image_url.into())
    }

    /// Downloads an image.
    pub async fn download(&self, url: &str) -> anyhow::Result<Bytes> {
        let answer = self
            .http
            .send(Method::GET, url, None, None, None, MAX_PICTURE)
            .await
            .context("cannot download the picture")?;
        if !answer.status.is_success() {
            bail!("cannot download the picture: {}", answer.status);
        }
        Ok(answer.body)
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<Body>,
        idempotency_key: Option<&str>,
    ) -> anyhow::Result<Response> {
        let url = format!("{}{path}", self.base);
        self.http
            .send(
                method,
                &url,
                Some(&self.key),
                body,
                idempotency_key,
                MAX_ANSWER,
            )
            .await
            .with_context(|| format!("no answer from {}", self.base))
    }
}

/// What to do about a creation that was not answered.
fn unanswered(error: &anyhow::Error, idempotency_key: &str, what: &str) -> anyhow::Error {
    match did_not_arrive(error) {
        true => anyhow::anyhow!(
            "{error:#}; the request did not arrive, and nothing is charged: check --server, and whether a server runs there"
        ),
        false => anyhow::anyhow!(
            "{error:#}; the request may have arrived: repeat the command with --idempotency-key {idempotency_key}, and {what} is created and charged once"
        ),
    }
}

fn read<T: DeserializeOwned>(answer: &Response, expected: StatusCode) -> anyhow::Result<T> {
    if answer.status != expected {
        bail!(refusal(answer.status, &answer.body));
    }
    serde_json::from_slice(&answer.body).context(NOT_TINTYPE)
}
