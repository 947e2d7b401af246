//! The HTTP client of the commands that call a server.

use crate::user_agent::USER_AGENT;
use bytes::Bytes;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use serde_json::Value;
use std::time::Duration;
use tintype_egress::header::{self, HeaderMap, HeaderValue};
use tintype_egress::{Client, ClientOptions, Error, Method, SetupError, StatusCode, parse_url};
use url::Url;

/// Time limit for one request and its response, and between two chunks of a stream.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Bytes kept of a response that refuses a stream.
const MAX_REFUSAL: usize = 64 * 1024;

/// A client of the server that the user names.
pub struct HttpClient {
    client: Client,
}

/// A complete response.
pub struct Response {
    pub status: StatusCode,
    pub body: Bytes,
}

/// The body of a request.
pub struct Body {
    pub media_type: &'static str,
    pub bytes: Bytes,
}

impl Body {
    pub fn json(value: &Value) -> Self {
        Self {
            media_type: "application/json",
            bytes: value.to_string().into(),
        }
    }
}

impl HttpClient {
    /// Allows every address, because the user chooses the server.
    pub fn new() -> Result<Self, SetupError> {
        let everywhere = [IpNet::V4(Ipv4Net::default()), IpNet::V6(Ipv6Net::default())];
        let client = Client::new(ClientOptions {
            allow: everywhere.into(),
            user_agent: Some(HeaderValue::from_static(USER_AGENT)),
            ..ClientOptions::default()
        })?;
        Ok(Self { client })
    }

    /// `GET` of a body of any length, which `each` receives in chunks. Returns the response if it is not a success.
    ///
    /// # Errors
    /// As for [`HttpClient::send`], and those of `each`.
    pub async fn stream(
        &self,
        url: &str,
        key: &str,
        mut each: impl FnMut(&[u8]) -> anyhow::Result<()>,
    ) -> anyhow::Result<Option<Response>> {
        let url = parse(url)?;
        let headers = HeaderMap::from_iter([(header::AUTHORIZATION, bearer(key)?)]);
        let sent = self.client.send(Method::GET, &url, headers, Bytes::new());
        let mut answer = in_time(sent).await?;
        let mut refusal = Vec::new();
        while let Some(chunk) = in_time(answer.chunk()).await? {
            if answer.status.is_success() {
                each(&chunk)?;
            } else if refusal.len() < MAX_REFUSAL {
                refusal.extend_from_slice(&chunk);
            }
        }
        Ok((!answer.status.is_success()).then(|| Response {
            status: answer.status,
            body: refusal.into(),
        }))
    }

    /// Sends a request, with an API key and an `Idempotency-Key` if there are any, and reads a response of at most `max_bytes`.
    ///
    /// # Errors
    /// Why there is no complete response. The text names neither key nor body. [`did_not_arrive`] tells more of it.
    pub async fn send(
        &self,
        method: Method,
        url: &str,
        key: Option<&str>,
        body: Option<Body>,
        idempotency_key: Option<&str>,
        max_bytes: usize,
    ) -> anyhow::Result<Response> {
        let url = parse(url)?;
        let mut headers = HeaderMap::new();
        if let Some(key) = key {
            headers.insert(header::AUTHORIZATION, bearer(key)?);
        }
        if let Some(name) = idempotency_key {
            let value = HeaderValue::from_str(name).map_err(|_| {
                anyhow::anyhow!("the idempotency key has characters that no header can carry")
            })?;
            headers.insert("idempotency-key", value);
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
            let mut answer = self.client.send(method, &url, headers, body).await?;
            let mut read = Vec::new();
            while let Some(chunk) = answer.chunk().await? {
                read.extend_from_slice(&chunk);
                if read.len() > max_bytes {
                    return Ok(Err(anyhow::anyhow!(
                        "its answer has over {max_bytes} bytes"
                    )));
                }
            }
            Ok::<_, Error>(Ok(Response {
                status: answer.status,
                body: read.into(),
            }))
        };
        match tokio::time::timeout(TIMEOUT, exchange).await {
            Ok(Ok(answered)) => answered,
            Ok(Err(fault)) => Err(fault.into()),
            Err(_) => Err(anyhow::anyhow!(
                "no whole answer within {} s",
                TIMEOUT.as_secs()
            )),
        }
    }
}

/// Is it certain that the request of this error did not arrive? Otherwise the server may have carried it out.
pub fn did_not_arrive(error: &anyhow::Error) -> bool {
    match error.downcast_ref() {
        Some(Error::NotPublic | Error::Unreachable(_) | Error::Tls(_) | Error::Unsendable) => true,
        Some(Error::TimedOut | Error::Broken) | None => false,
    }
}

fn parse(url: &str) -> anyhow::Result<Url> {
    parse_url(url).map_err(|fault| anyhow::anyhow!("the URL {url} {fault}"))
}

fn bearer(key: &str) -> anyhow::Result<HeaderValue> {
    let mut value = HeaderValue::from_str(&format!("Bearer {key}"))
        .map_err(|_| anyhow::anyhow!("the key has characters that no header can carry"))?;
    value.set_sensitive(true);
    Ok(value)
}

/// Awaits one step of a stream.
async fn in_time<T>(step: impl Future<Output = Result<T, Error>>) -> anyhow::Result<T> {
    match tokio::time::timeout(TIMEOUT, step).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(fault)) => Err(fault.into()),
        Err(_) => Err(anyhow::anyhow!("nothing for {} s", TIMEOUT.as_secs())),
    }
}
