//! The HTTP client of one backend: connections, credentials, size limits.

use super::super::image_bytes;
use super::super::setup_error::BackendSetupError;
use super::error_message::sanitize;
use super::fault::refuses_request;
use super::redaction::{redact, redactions};
use super::{Fault, Response, blocking, error_message};
use crate::config::Remote;
use crate::outgoing_http;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::{Bytes, BytesMut};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::multipart::Form;
use reqwest::{Client, Method, RequestBuilder};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::error::Error as _;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tintype_actors::ports::{GenerateError, set_cause};
use tokio::sync::watch;
use url::Url;

/// In bytes. A 4K image of noise has about 60 MB, or 80 MB in base64.
pub const MAX_RESPONSE: usize = 128 * 1024 * 1024;
/// In bytes, for responses without an image: lists and progress. ComfyUI's history holds whole graphs.
const MAX_SMALL_RESPONSE: usize = 8 * 1024 * 1024;
/// In bytes. The client reads no more of an error response.
const MAX_ERROR: usize = 256 * 1024;
/// Of a request's path in a fault; the backend may have chosen the path.
const MAX_PATH_CHARS: usize = 200;
const NO_IMAGE: &str = "the image generator returned no image";
/// For DNS lookup, connection and TLS handshake together.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Usual Python servers close an idle connection after 5 s; closing earlier avoids requests on a connection that is closing.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);

/// How a kind of backend takes its API key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Auth {
    None,
    /// `Authorization: Bearer KEY`.
    Bearer,
    /// `Authorization: Basic`; the key is `user:password`.
    Basic,
    /// A header of this name.
    Header(&'static str),
}

/// The HTTP client of a backend. Cheap to clone; clones share one connection pool.
#[derive(Clone)]
pub struct Upstream {
    inner: Arc<Inner>,
    /// Of a successful response, in bytes.
    limit: usize,
}

struct Inner {
    name: String,
    http: Client,
    base: Url,
    /// See [`redactions`].
    redactions: Vec<String>,
    /// Each running cleanup has a receiver.
    cleanups: watch::Sender<()>,
}

impl Upstream {
    pub fn new(name: &str, remote: &Remote, auth: Auth) -> Result<Self, BackendSetupError> {
        let invalid = |what| BackendSetupError::InvalidConfig {
            name: name.to_owned(),
            what,
        };
        let base = Url::parse(&remote.base_url).map_err(|_| invalid("`base_url` is not a URL"))?;
        let headers = headers(remote, auth).map_err(invalid)?;
        let http = outgoing_http::client_builder()?
            .default_headers(headers)
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_idle_timeout(IDLE_TIMEOUT)
            .build()
            .map_err(|source| BackendSetupError::Client {
                name: name.to_owned(),
                source,
            })?;
        Ok(Self {
            limit: MAX_RESPONSE,
            inner: Arc::new(Inner {
                name: name.to_owned(),
                http,
                redactions: redactions(remote, &base),
                base,
                cleanups: watch::Sender::default(),
            }),
        })
    }

    /// The same client with a lower size limit, for calls whose responses hold no image.
    pub fn for_small_responses(&self) -> Self {
        Self {
            limit: MAX_SMALL_RESPONSE,
            ..self.clone()
        }
    }

    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// `base_url`.
    pub fn base(&self) -> &Url {
        &self.inner.base
    }

    pub(super) fn cleanups(&self) -> &watch::Sender<()> {
        &self.inner.cleanups
    }

    /// Sends a GET below `base_url`. `path` begins with a slash, is percent-encoded, and may have a query.
    ///
    /// # Errors
    /// When no complete response arrives. A response of any status is `Ok`; see [`expect_success`](Self::expect_success).
    pub async fn get(&self, path: &str) -> Result<Response, Fault> {
        self.exchange(self.request(Method::GET, path)).await
    }

    /// As [`get`](Self::get); `None` for a response over the size limit, which is then no fault of the attempt.
    pub async fn get_if_small(&self, path: &str) -> Result<Option<Response>, Fault> {
        match self.send(self.request(Method::GET, path)).await {
            Ok(response) => Ok(Some(response)),
            Err(Fault::TooLarge { .. }) => Ok(None),
            Err(fault) => Err(self.noted(fault)),
        }
    }

    /// Sends a POST with serialized JSON. Serialize a large body with [`blocking`].
    pub async fn post_json(&self, path: &str, json: Bytes) -> Result<Response, Fault> {
        let request = self.request(Method::POST, path);
        let request = request.header(CONTENT_TYPE, "application/json").body(json);
        self.exchange(request).await
    }

    /// Sends a POST with `value`, serialized to JSON on the blocking pool.
    pub async fn post<T>(&self, path: &str, value: T) -> Result<Response, Fault>
    where
        T: Serialize + Send + 'static,
    {
        let json = blocking(move || serde_json::to_vec(&value)).await;
        // Serialization fails only for a map with keys that are not strings.
        let json = json.map_err(|error| Fault::Garbage(error.to_string()))?;
        self.post_json(path, json.into()).await
    }

    /// Sends a POST with a `multipart/form-data` body.
    pub async fn post_form(&self, path: &str, form: Form) -> Result<Response, Fault> {
        let request = self.request(Method::POST, path).multipart(form);
        self.exchange(request).await
    }

    /// Sends a GET to an address from the backend's own response, relative or absolute, on the origin of `base_url` only.
    ///
    /// # Errors
    /// [`Fault::OtherOrigin`] for another scheme, host or port; else as [`get`](Self::get).
    pub async fn get_same_origin(&self, address: &str) -> Result<Response, Fault> {
        let mut below = self.inner.base.clone();
        below.set_path(&format!("{}/", below.path().trim_end_matches('/')));
        let url = below.join(address).ok();
        let own = url.filter(|url| url.origin() == self.inner.base.origin());
        let Some(url) = own else {
            return Err(self.noted(Fault::OtherOrigin));
        };
        self.exchange(self.inner.http.request(Method::GET, url))
            .await
    }

    /// Returns the response if its status is a success.
    ///
    /// # Errors
    /// [`Fault::Status`], with the backend's own message.
    pub fn expect_success(&self, response: Response) -> Result<Response, Fault> {
        if response.status.is_success() {
            return Ok(response);
        }
        Err(self.refusal(&response, None))
    }

    /// The fault for an error response, also noted. `retry_after` is the delay from the body; it takes precedence over the headers.
    pub fn refusal(&self, response: &Response, retry_after: Option<Duration>) -> Fault {
        let path = redact(&response.path, &self.inner.redactions);
        let path = path.chars().take(MAX_PATH_CHARS).collect();
        let status = response.status;
        self.noted(
            match refuses_request(status) && response.media_type() == "text/html" {
                true => Fault::WebPage { status, path },
                false => Fault::Status {
                    status,
                    path,
                    message: self.message(&response.body),
                    retry_after: retry_after.or_else(|| response.retry_after()),
                },
            },
        )
    }

    /// The message of an error response, sanitized; empty if it has none.
    pub fn message(&self, body: &[u8]) -> String {
        error_message(body).map_or(String::new(), |text| self.clean(&text))
    }

    /// Notes why a success holds no image: some gateways answer an error with a success. Returns the caller's error.
    pub fn no_image(&self, body: &[u8]) -> GenerateError {
        set_cause(self.no_image_cause(body));
        GenerateError::NoImage(NO_IMAGE.into())
    }

    /// As [`no_image`](Self::no_image), for a server that answers this way if its model did not load.
    pub fn no_image_of_model(&self, body: &[u8]) -> GenerateError {
        set_cause(format!("{}; is a model loaded?", self.no_image_cause(body)));
        GenerateError::Misconfigured(NO_IMAGE.into())
    }

    fn no_image_cause(&self, body: &[u8]) -> String {
        match self.message(body).as_str() {
            "" => "it returned no image".to_owned(),
            message => format!("it returned no image, saying \"{message}\""),
        }
    }

    /// Decodes a base64 image on the blocking pool.
    ///
    /// # Errors
    /// [`Fault::Garbage`] if it is not base64.
    pub async fn decode_image(&self, text: String) -> Result<Vec<u8>, Fault> {
        let decoded = blocking(move || image_bytes(&text)).await;
        decoded.ok_or_else(|| self.noted(Fault::Garbage("an image that is not base64".into())))
    }

    /// Parses the body as JSON on the blocking pool.
    ///
    /// # Errors
    /// [`Fault::Garbage`], or [`Fault::BrokenOff`] when the JSON is truncated.
    pub async fn json<T>(&self, response: Response) -> Result<T, Fault>
    where
        T: DeserializeOwned + Send + 'static,
    {
        let media_type = response.media_type();
        let body = response.body;
        let read = blocking(move || serde_json::from_slice(&body)).await;
        read.map_err(|error: serde_json::Error| {
            let fault = match error.is_eof() {
                true => Fault::BrokenOff("the JSON is truncated".into()),
                // Not the error's own text: it may repeat the response, and so a whole image.
                false => Fault::Garbage(format!(
                    "{} that is not the expected JSON, at line {} column {}",
                    match media_type.as_str() {
                        "" => "a body without a type",
                        named => named,
                    },
                    error.line(),
                    error.column()
                )),
            };
            self.noted(fault)
        })
    }

    /// Sanitizes a text of the backend for callers: one line of visible characters without addresses, paths or secrets.
    pub fn clean(&self, text: &str) -> String {
        sanitize(text, &self.inner.redactions)
    }

    /// Notes a fault as the cause of the attempt, which logs it if it fails, and returns it.
    pub fn noted(&self, fault: Fault) -> Fault {
        set_cause(fault.to_string());
        fault
    }

    pub(super) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        // Not `Url::join`, which would drop the path of `base_url`.
        let base = self.inner.base.as_str().trim_end_matches('/');
        self.inner.http.request(method, format!("{base}{path}"))
    }

    async fn exchange(&self, request: RequestBuilder) -> Result<Response, Fault> {
        let exchanged = self.send(request).await;
        exchanged.map_err(|fault| self.noted(fault))
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, Fault> {
        let response = request.send().await.map_err(|error| to_fault(&error))?;
        read_response(response, self.limit).await
    }
}

/// Shows the backend's name and none of its keys.
impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Upstream").field(&self.inner.name).finish()
    }
}

async fn read_response(
    mut response: reqwest::Response,
    success_limit: usize,
) -> Result<Response, Fault> {
    let success = response.status().is_success();
    let limit = if success { success_limit } else { MAX_ERROR };
    let announced = response.content_length().unwrap_or_default();
    if success && announced > limit as u64 {
        return Err(Fault::TooLarge { limit });
    }
    // The announced length is only a hint for the allocation.
    let mut body = BytesMut::with_capacity((announced as usize).min(1 << 20));
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if body.len() + chunk.len() <= limit => body.extend_from_slice(&chunk),
            Ok(None) => break,
            // Of an error response, the part of the message that has arrived is enough.
            Ok(Some(_)) | Err(_) if !success => break,
            Ok(Some(_)) => return Err(Fault::TooLarge { limit }),
            Err(error) => return Err(to_fault(&error)),
        }
    }
    Ok(Response {
        // Without the query, which may hold secrets.
        path: response.url().path().to_owned(),
        status: response.status(),
        headers: std::mem::take(response.headers_mut()),
        body: body.freeze(),
    })
}

fn to_fault(error: &reqwest::Error) -> Fault {
    if error.is_timeout() && !error.is_connect() {
        return Fault::TimedOut;
    }
    let mut reason = String::new();
    let mut source = error.source();
    // Only the innermost cause is specific.
    while let Some(cause) = source {
        reason = cause.to_string();
        source = cause.source();
    }
    match error.is_connect() || error.is_builder() {
        true => Fault::Unreachable(reason),
        false => Fault::BrokenOff(reason),
    }
}

fn headers(remote: &Remote, auth: Auth) -> Result<HeaderMap, &'static str> {
    let invalid = "the API key holds characters that a header cannot carry";
    let mut headers = HeaderMap::new();
    let mut put = |name: HeaderName, value: &str| {
        let mut value = HeaderValue::from_str(value).map_err(|_| invalid)?;
        value.set_sensitive(true);
        headers.insert(name, value);
        Ok::<(), &'static str>(())
    };
    if let Some(key) = &remote.api_key {
        let key = key.expose();
        match auth {
            Auth::None => {}
            Auth::Bearer => put(AUTHORIZATION, &format!("Bearer {key}"))?,
            Auth::Basic => {
                let credentials = BASE64_STANDARD.encode(key);
                put(AUTHORIZATION, &format!("Basic {credentials}"))?;
            }
            Auth::Header(name) => put(HeaderName::from_static(name), key)?,
        }
    }
    // Configured headers come last and replace the kind's own.
    for (name, value) in &remote.headers {
        let name = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| "a header in `headers` has an invalid name")?;
        put(name, value.expose())?;
    }
    Ok(headers)
}
