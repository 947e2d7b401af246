//! HTTP client of the commands that call a server.

use super::problem_text::ErrorResponse;
use crate::outgoing_http::USER_AGENT;
use anyhow::{anyhow, ensure};
use bytes::Bytes;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use serde_json::Value;
use std::time::Duration;
use tintype_egress::header::{self, HeaderMap, HeaderValue};
use tintype_egress::{Client, ClientOptions, Error, Method, SetupError, StatusCode, parse_url};
use tokio::time::timeout;
use url::Url;

/// Time limit for one request and its response, and between two chunks of a stream.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Maximum bytes kept of an error response to a streaming request.
const MAX_ERROR_BODY: usize = 64 * 1024;

pub struct HttpClient {
    client: Client,
    max_bytes: usize,
}

pub struct Response {
    pub status: StatusCode,
    /// Does the server answer an earlier request with the same idempotency key again?
    pub is_replay: bool,
    pub body: Bytes,
}

pub struct Body {
    pub media_type: &'static str,
    pub bytes: Bytes,
}

/// The request is invalid, so the client did not send it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotSent(String);

impl Body {
    pub fn json(value: &Value) -> Self {
        Self {
            media_type: "application/json",
            bytes: value.to_string().into(),
        }
    }
}

impl HttpClient {
    /// Allows every address, because the user chooses the server. [`send`](Self::send) accepts responses of at most `max_bytes`.
    pub fn new(max_bytes: usize) -> Result<Self, SetupError> {
        let everywhere = [IpNet::V4(Ipv4Net::default()), IpNet::V6(Ipv6Net::default())];
        let client = Client::new(ClientOptions {
            allow: everywhere.into(),
            user_agent: Some(HeaderValue::from_static(USER_AGENT)),
            ..ClientOptions::default()
        })?;
        Ok(Self { client, max_bytes })
    }

    /// `GET` a body of any length, and pass each chunk to `each`. Returns an error response.
    ///
    /// # Errors
    /// As [`HttpClient::send`], and the errors of `each`.
    pub async fn stream(
        &self,
        url: &str,
        key: Option<&str>,
        mut each: impl FnMut(&[u8]) -> anyhow::Result<()>,
    ) -> anyhow::Result<Option<Response>> {
        let url = parse(url)?;
        let mut headers = HeaderMap::new();
        if let Some(key) = key {
            headers.insert(header::AUTHORIZATION, bearer(key)?);
        }
        let sent = self.client.send(Method::GET, &url, headers, Bytes::new());
        let mut response = with_timeout(sent).await?;
        let mut error_body = Vec::new();
        while let Some(chunk) = with_timeout(response.chunk()).await? {
            if response.status.is_success() {
                each(&chunk)?;
            } else if error_body.len() < MAX_ERROR_BODY {
                error_body.extend_from_slice(&chunk);
            }
        }
        Ok((!response.status.is_success()).then(|| Response {
            status: response.status,
            is_replay: false,
            body: error_body.into(),
        }))
    }

    /// Sends a request and reads the whole response.
    ///
    /// # Errors
    /// There is no complete response. The error contains neither key nor body. See [`did_not_arrive`].
    pub async fn send(
        &self,
        method: Method,
        url: &str,
        key: Option<&str>,
        body: Option<Body>,
        idempotency_key: Option<&str>,
    ) -> anyhow::Result<Response> {
        let url = parse(url)?;
        let mut headers = HeaderMap::new();
        if let Some(key) = key {
            headers.insert(header::AUTHORIZATION, bearer(key)?);
        }
        if let Some(key) = idempotency_key {
            headers.insert("idempotency-key", header_value("idempotency key", key)?);
        }
        let body = match body {
            Some(body) => {
                let media_type = HeaderValue::from_static(body.media_type);
                headers.insert(header::CONTENT_TYPE, media_type);
                body.bytes
            }
            None => Bytes::new(),
        };
        let exchange = async {
            let mut response = self.client.send(method, &url, headers, body).await?;
            let mut body = Vec::new();
            while let Some(chunk) = response.chunk().await? {
                body.extend_from_slice(&chunk);
                ensure!(
                    body.len() <= self.max_bytes,
                    "the response is larger than {} bytes",
                    self.max_bytes
                );
            }
            Ok(Response {
                status: response.status,
                is_replay: response.headers.contains_key("idempotent-replayed"),
                body: body.into(),
            })
        };
        let exchange = timeout(TIMEOUT, exchange).await;
        exchange.unwrap_or_else(|_| {
            let text = format!("no complete response within {} s", TIMEOUT.as_secs());
            Err(anyhow::Error::new(Error::TimedOut).context(text))
        })
    }
}

/// Whether the request certainly did not reach the server. Otherwise the server may have executed it.
pub fn did_not_arrive(error: &anyhow::Error) -> bool {
    if error.is::<NotSent>() {
        return true;
    }
    match error.downcast_ref() {
        Some(
            Error::NotPublic
            | Error::LookupTimedOut
            | Error::Unreachable(_)
            | Error::Tls(_)
            | Error::Unsendable,
        ) => true,
        Some(Error::TimedOut | Error::Broken) | None => false,
    }
}

/// Adds [`repeat_advice`] to the error of a request with this key, unless the server certainly did not execute it.
pub fn add_repeat_advice(mut error: anyhow::Error, idempotency_key: &str) -> anyhow::Error {
    if did_not_arrive(&error) {
        return error;
    }
    let advice = repeat_advice(idempotency_key);
    // Commands replace the fields in the text of a response.
    match error.downcast_mut::<ErrorResponse>() {
        Some(response) => response.advise_unless_refused(advice),
        None => error = anyhow!("{error:#}; {advice}"),
    }
    error
}

/// What to do without a response that tells the outcome.
pub fn repeat_advice(idempotency_key: &str) -> String {
    format!(
        "the request may have arrived: repeat the command with --idempotency-key {idempotency_key}, which executes it once"
    )
}

/// Whether the server did not respond, although it may respond to the same request later.
pub fn is_unanswered(error: &anyhow::Error) -> bool {
    matches!(
        error.downcast_ref(),
        Some(
            Error::NotPublic
                | Error::LookupTimedOut
                | Error::Unreachable(_)
                | Error::TimedOut
                | Error::Broken
        )
    )
}

fn parse(url: &str) -> Result<Url, NotSent> {
    parse_url(url).map_err(|error| NotSent(format!("the URL {url} {error}")))
}

fn bearer(key: &str) -> Result<HeaderValue, NotSent> {
    let mut value = header_value("key", &format!("Bearer {key}"))?;
    value.set_sensitive(true);
    Ok(value)
}

fn header_value(name: &str, text: &str) -> Result<HeaderValue, NotSent> {
    HeaderValue::from_str(text).map_err(|_| {
        NotSent(format!(
            "the {name} contains characters that are not allowed in an HTTP header"
        ))
    })
}

async fn with_timeout<T>(step: impl Future<Output = Result<T, Error>>) -> anyhow::Result<T> {
    match timeout(TIMEOUT, step).await {
        Ok(outcome) => Ok(outcome?),
        Err(_) => {
            let text = format!("no data for {} s", TIMEOUT.as_secs());
            Err(anyhow::Error::new(Error::TimedOut).context(text))
        }
    }
}
