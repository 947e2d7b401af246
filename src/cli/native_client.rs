//! Client of the native API (`/api/v1`), authenticated by an API key.

use super::http_client::{
    Body, HttpClient, NotSent, Response, add_repeat_advice, did_not_arrive, is_unanswered,
};
use super::problem_text::ErrorResponse;
use anyhow::{Context as _, anyhow, bail, ensure};
use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tintype_api::{Batch, BatchEstimate, CreatedJob, Job, Page};
use tintype_egress::{Method, StatusCode};
use tintype_storage::domain::ids::BatchId;
use uuid::Uuid;

const NOT_TINTYPE: &str = "the response is not from Tintype; check --server";
/// Maximum bytes of an image. A 4K PNG of noise has about 60 MB.
const MAX_IMAGE: usize = 256 * 1024 * 1024;
/// Maximum bytes of another response. The longest is a page of 100 batches with 16 KiB of metadata each.
const MAX_RESPONSE: usize = 4 * 1024 * 1024;

/// The image is no longer stored, so that another attempt at its download would fail too.
#[derive(Debug, thiserror::Error)]
#[error("the image is no longer stored (the response is {0})")]
pub struct ImageGone(StatusCode);

/// The idempotency key of a command that creates a job or a batch.
pub struct SubmissionKey {
    pub text: String,
    /// An earlier command may have used a key that the user gave.
    is_given: bool,
}

impl SubmissionKey {
    pub fn given_or_random(given: Option<String>) -> Self {
        Self {
            is_given: given.is_some(),
            text: given.unwrap_or_else(|| Uuid::new_v4().to_string()),
        }
    }

    /// What to say if the request certainly did not reach the server.
    fn undelivered_advice(&self) -> &'static str {
        match self.is_given {
            true => {
                "this attempt did not arrive; repeat the command with the same --idempotency-key, because an earlier attempt may have been accepted"
            }
            false => "the request did not arrive, and nothing is charged",
        }
    }
}

pub struct NativeClient {
    http: HttpClient,
    base: String,
    key: String,
}

impl NativeClient {
    /// `base` is the URL without `/api/v1` and without a trailing slash.
    pub fn new(base: &str, key: &str) -> anyhow::Result<Self> {
        Ok(Self {
            http: HttpClient::new(MAX_RESPONSE)?,
            base: base.to_owned(),
            key: key.to_owned(),
        })
    }

    /// Creates a job; returns its `status_url`.
    ///
    /// # Errors
    /// If the job may exist, the error says how to repeat the command with the key.
    pub async fn create_job(
        &self,
        path: &str,
        body: &Value,
        idempotency_key: Option<&SubmissionKey>,
    ) -> anyhow::Result<String> {
        let path = format!("/api/v1{path}");
        let submitted = self.submit(&path, Body::json(body), idempotency_key);
        let (created, _): (CreatedJob, bool) = submitted.await?;
        Ok(created.status_url.into())
    }

    /// The server responds when the job has ended, or after `wait` seconds.
    pub async fn get_job(&self, status_url: &str, wait: u64) -> anyhow::Result<Job<'static>> {
        self.get(&format!("{status_url}?wait={wait}")).await
    }

    /// Also returns whether the server answers an earlier submission again.
    pub async fn submit_batch(
        &self,
        body: Body,
        idempotency_key: &SubmissionKey,
    ) -> anyhow::Result<(Batch, bool)> {
        let path = "/api/v1/batches";
        self.submit(path, body, Some(idempotency_key)).await
    }

    pub async fn estimate_batch(&self, body: Body) -> anyhow::Result<BatchEstimate> {
        let path = "/api/v1/batches?dry_run=true";
        let response = self.call(Method::POST, path, Some(body), None).await?;
        read(&response, StatusCode::OK)
    }

    /// The server responds when the batch has ended, or after `wait` seconds.
    pub async fn get_batch(&self, id: BatchId, wait: u64) -> anyhow::Result<Batch> {
        self.get(&format!("/api/v1/batches/{id}?wait={wait}")).await
    }

    /// A page of batches, newest first.
    pub async fn list_batches(
        &self,
        limit: u8,
        cursor: Option<&str>,
    ) -> anyhow::Result<Page<Batch>> {
        let cursor = cursor.map(|it| format!("&cursor={it}")).unwrap_or_default();
        self.get(&format!("/api/v1/batches?limit={limit}{cursor}"))
            .await
    }

    /// Cancels the queued jobs of a batch.
    pub async fn cancel_batch(&self, id: BatchId) -> anyhow::Result<Batch> {
        let path = format!("/api/v1/batches/{id}");
        let response = self.call(Method::DELETE, &path, None, None).await?;
        read(&response, StatusCode::OK)
    }

    /// Passes each line of the results of a batch to `each`.
    pub async fn for_each_result(
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
        let streamed = self.http.stream(&url, Some(&self.key), lines).await;
        let error_response =
            streamed.with_context(|| format!("cannot read the results from {}", self.base))?;
        match error_response {
            Some(response) => bail!(ErrorResponse::new(response.status, &response.body)),
            None => Ok(()),
        }
    }

    /// A new download URL of the image of a done job.
    pub async fn image_url(&self, job: &str) -> anyhow::Result<String> {
        let job = self.get_job(&format!("/api/v1/jobs/{job}"), 0).await?;
        let result = job.result.context("the job has no image")?;
        Ok(result.image_url.into())
    }

    /// Downloads an image of any length that keeps arriving: on a slow connection, a large image takes minutes.
    ///
    /// # Errors
    /// [`ImageGone`], and faults that another attempt may not have
    pub async fn download(&self, url: &str) -> anyhow::Result<Bytes> {
        let mut image = Vec::new();
        let append = |chunk: &[u8]| {
            image.extend_from_slice(chunk);
            ensure!(
                image.len() <= MAX_IMAGE,
                "it is larger than {MAX_IMAGE} bytes"
            );
            Ok(())
        };
        let streamed = self.http.stream(url, None, append).await;
        match streamed.context("cannot download the image")? {
            None => Ok(image.into()),
            Some(Response { status, .. }) => match status {
                StatusCode::NOT_FOUND | StatusCode::GONE => bail!(ImageGone(status)),
                _ => bail!("cannot download the image: {status}"),
            },
        }
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        let response = self.call(Method::GET, path, None, None).await?;
        read(&response, StatusCode::OK)
    }

    /// Creates a job or a batch. Also returns whether the server answers an earlier submission again.
    async fn submit<T: DeserializeOwned>(
        &self,
        path: &str,
        body: Body,
        idempotency_key: Option<&SubmissionKey>,
    ) -> anyhow::Result<(T, bool)> {
        let text = idempotency_key.map(|key| key.text.as_str());
        let sent = self.call(Method::POST, path, Some(body), text);
        let created = sent.await.and_then(|response| {
            let created = read(&response, StatusCode::ACCEPTED)?;
            Ok((created, response.is_replay))
        });
        created.map_err(|error| match idempotency_key {
            _ if error.is::<NotSent>() => error,
            Some(key) if did_not_arrive(&error) => anyhow!(
                "{error:#}; {}; check that the server runs and that --server is correct",
                key.undelivered_advice()
            ),
            Some(key) => add_repeat_advice(error, &key.text),
            None => error,
        })
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
            .send(method, &url, Some(&self.key), body, idempotency_key)
            .await
            .map_err(|error| match error.is::<NotSent>() {
                true => error,
                false => error.context(format!("no response from {}", self.base)),
            })
    }
}

/// Whether the same request may succeed later, such as after a restart of the server.
pub fn is_transient(error: &anyhow::Error) -> bool {
    match error.downcast_ref::<ErrorResponse>() {
        Some(response) => response.is_transient(),
        None => is_unanswered(error),
    }
}

fn read<T: DeserializeOwned>(response: &Response, expected: StatusCode) -> anyhow::Result<T> {
    if response.status != expected {
        bail!(ErrorResponse::new(response.status, &response.body));
    }
    serde_json::from_slice(&response.body).context(NOT_TINTYPE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;
    use tokio::time::{pause, sleep};

    /// Half of the time limit of a request.
    const PAUSE: Duration = Duration::from_secs(30);

    #[tokio::test]
    async fn a_download_takes_as_long_as_the_image_keeps_arriving() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let serve = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            assert_ne!(stream.read(&mut [0; 1024]).await.unwrap(), 0);
            pause();
            let head = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n";
            stream.write_all(head).await.unwrap();
            for byte in b"fox" {
                sleep(PAUSE).await;
                stream.write_all(&[*byte]).await.unwrap();
            }
        };
        let client = NativeClient::new("http://127.0.0.1:9", "tt_key").unwrap();
        let (image, ()) = tokio::join!(client.download(&url), serve);
        assert_eq!(image.unwrap(), "fox");
    }
}
