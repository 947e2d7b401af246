//! A small client of the native interface, for commands that talk to a server.

use super::http_client::{HttpClient, Response, did_not_arrive};
use anyhow::{Context as _, bail};
use bytes::Bytes;
use serde_json::Value;
use tintype_api::{CreatedJob, Job, Problem};
use tintype_egress::{Method, StatusCode};

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
        let answer = self
            .call(Method::POST, &path, Some(body), Some(idempotency_key))
            .await
            .map_err(|error| match did_not_arrive(&error) {
                true => anyhow::anyhow!(
                    "{error:#}; the request did not arrive, and nothing is charged: check --server, and whether a server runs there"
                ),
                false => anyhow::anyhow!(
                    "{error:#}; the request may have arrived: repeat the command with --idempotency-key {idempotency_key}, and the job is created and charged once"
                ),
            })?;
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
        body: Option<&Value>,
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

/// Formats an error answer.
pub(super) fn refusal(status: StatusCode, body: &[u8]) -> String {
    match serde_json::from_slice::<Problem<'_>>(body) {
        Ok(problem) if problem.errors.is_empty() => {
            format!("{}: {}", problem.title, problem.detail)
        }
        Ok(problem) => {
            let faults: Vec<String> = problem
                .errors
                .iter()
                .map(|it| format!("  {} {}", it.field, it.message))
                .collect();
            format!("{}\n{}", problem.title, faults.join("\n"))
        }
        Err(_) => format!("the server answered {status}"),
    }
}
