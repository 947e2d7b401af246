//! A small client of the native interface, for commands that talk to a server.

use anyhow::{Context as _, bail};
use awc::Client;
use awc::http::StatusCode;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(60);
/// The largest picture that is taken: a 4K PNG of noise has about 60 MB.
const MAX_PICTURE: usize = 256 * 1024 * 1024;
const MAX_ANSWER: usize = 1024 * 1024;

/// A server with a key.
pub struct NativeClient {
    http: Client,
    base: String,
    key: String,
}

/// What a lookup says of a job.
#[derive(Debug, Deserialize)]
pub struct JobAnswer {
    /// Where it stands.
    pub status: String,
    /// The picture, once it is done.
    pub result: Option<ResultAnswer>,
    /// Why it failed.
    pub error: Option<String>,
}

/// Where the picture is.
#[derive(Debug, Deserialize)]
pub struct ResultAnswer {
    /// Presigned.
    pub image_url: String,
}

#[derive(Deserialize)]
struct Created {
    status_url: String,
}

#[derive(Deserialize)]
struct ProblemAnswer {
    title: String,
    detail: String,
    #[serde(default)]
    errors: Vec<FieldAnswer>,
}

#[derive(Deserialize)]
struct FieldAnswer {
    field: String,
    message: String,
}

impl NativeClient {
    /// A client of the server at `base`, without `/api/v1`.
    pub fn new(base: &str, key: &str) -> Self {
        let http = Client::builder().timeout(TIMEOUT).finish();
        Self {
            http,
            base: base.trim_end_matches('/').to_owned(),
            key: key.to_owned(),
        }
    }

    /// Posts a job; returns the path of its status.
    pub async fn create(&self, path: &str, body: &Value) -> anyhow::Result<String> {
        let call = self
            .http
            .post(format!("{}/api/v1{path}", self.base))
            .bearer_auth(&self.key);
        let mut answer = call
            .send_json(body)
            .await
            .map_err(|error| self.unreachable(&error))?;
        let bytes = answer.body().limit(MAX_ANSWER).await?;
        if answer.status() != StatusCode::ACCEPTED {
            bail!(refusal(answer.status(), &bytes));
        }
        let created: Created =
            serde_json::from_slice(&bytes).context("the server's answer is not that of Tintype")?;
        Ok(created.status_url)
    }

    /// Looks a job up.
    pub async fn look_up(&self, status_url: &str) -> anyhow::Result<JobAnswer> {
        let call = self
            .http
            .get(format!("{}{status_url}", self.base))
            .bearer_auth(&self.key);
        let mut answer = call
            .send()
            .await
            .map_err(|error| self.unreachable(&error))?;
        let bytes = answer.body().limit(MAX_ANSWER).await?;
        if answer.status() != StatusCode::OK {
            bail!(refusal(answer.status(), &bytes));
        }
        serde_json::from_slice(&bytes).context("the server's answer is not that of Tintype")
    }

    /// Downloads a picture.
    pub async fn download(&self, url: &str) -> anyhow::Result<Bytes> {
        let mut answer = self
            .http
            .get(url)
            .send()
            .await
            .map_err(|error| self.unreachable(&error))?;
        if !answer.status().is_success() {
            bail!("the picture could not be downloaded: {}", answer.status());
        }
        Ok(answer.body().limit(MAX_PICTURE).await?)
    }

    fn unreachable(&self, error: &dyn std::fmt::Display) -> anyhow::Error {
        anyhow::anyhow!("no answer from {}: {error}", self.base)
    }
}

/// An error answer as lines for a person.
pub(super) fn refusal(status: StatusCode, body: &[u8]) -> String {
    match serde_json::from_slice::<ProblemAnswer>(body) {
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
