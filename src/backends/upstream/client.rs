//! The client of one back end: connections, credentials, bounds.

use super::error_message::sanitized;
use super::redaction::redactions;
use super::{Answer, Fault, blocking, error_message};
use crate::config::Remote;
use crate::user_agent::USER_AGENT;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::{Bytes, BytesMut};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::multipart::Form;
use reqwest::{Client, Method, RequestBuilder, Response, redirect};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::error::Error as _;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tintype_actors::ports::note_cause;
use tintype_egress::{SetupError, tls};
use url::Url;

/// Bytes of an answer at most: a 4K picture of noise has about 60 MB, and base64 makes 80 of them.
pub const MAX_ANSWER: usize = 128 * 1024 * 1024;
/// Bytes at most of an answer without a picture: lists and progress. The history of a ComfyUI holds whole graphs.
const MAX_WORDS: usize = 8 * 1024 * 1024;
/// Bytes of an error answer that are read; the rest is left.
const MAX_ERROR: usize = 256 * 1024;
/// For look-up, connection and TLS handshake together.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Less than the 5 s after which the usual Python servers close an idle connection, so that hardly any request meets a close.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);

/// How a kind of back end wants its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Auth {
    /// It has none.
    None,
    /// `Authorization: Bearer KEY`.
    Bearer,
    /// `Authorization: Basic`, of a key that is `user:password`.
    Basic,
    /// A header of its own.
    Header(&'static str),
}

/// Why a client could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamSetupError {
    /// The configuration does not fit into HTTP.
    #[error("the back end `{name}`: {what}")]
    Unfit {
        /// The back end.
        name: String,
        /// What is wrong.
        what: &'static str,
    },
    /// No TLS.
    #[error(transparent)]
    Tls(#[from] SetupError),
    /// The client itself.
    #[error("connections to the back end `{name}` cannot be set up: {source}")]
    Client {
        /// The back end.
        name: String,
        /// Why.
        source: reqwest::Error,
    },
}

/// A back end behind HTTP: made once, cheap to clone, keeps its connections.
#[derive(Clone)]
pub struct Upstream {
    inner: Arc<Inner>,
    /// Bytes of an answer that is a success.
    limit: usize,
}

struct Inner {
    name: String,
    http: Client,
    base: Url,
    /// See [`redactions`].
    redactions: Vec<String>,
}

impl Upstream {
    /// A client of the back end `name`.
    ///
    /// # Errors
    /// See [`UpstreamSetupError`].
    pub fn new(name: &str, remote: &Remote, auth: Auth) -> Result<Self, UpstreamSetupError> {
        let unfit = |what| UpstreamSetupError::Unfit {
            name: name.to_owned(),
            what,
        };
        let base = Url::parse(&remote.base_url).map_err(|_| unfit("`base_url` is no URL"))?;
        let headers = headers(remote, auth).map_err(unfit)?;
        // HTTP/1.1: one lost HTTP/2 connection would fail every generation that uses it.
        let http = Client::builder()
            .tls_backend_preconfigured(tls::client_config(None)?)
            .http1_only()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .referer(false)
            .user_agent(USER_AGENT)
            .default_headers(headers)
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_idle_timeout(IDLE_TIMEOUT)
            .build()
            .map_err(|source| UpstreamSetupError::Client {
                name: name.to_owned(),
                source,
            })?;
        Ok(Self {
            limit: MAX_ANSWER,
            inner: Arc::new(Inner {
                name: name.to_owned(),
                http,
                redactions: redactions(remote, &base),
                base,
            }),
        })
    }

    /// The same client for calls whose answers hold no picture, and are bounded more tightly.
    pub fn for_words(&self) -> Self {
        Self {
            limit: MAX_WORDS,
            ..self.clone()
        }
    }

    /// The operator's name of the back end, for logs.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// `base_url`, without a slash at the end.
    pub fn base(&self) -> &Url {
        &self.inner.base
    }

    /// GET below `base_url`. `path` begins with a slash, is percent-encoded, and may have a query.
    ///
    /// # Errors
    /// Why there is no whole answer. Every status is an answer; see [`expect_success`](Self::expect_success).
    pub async fn get(&self, path: &str) -> Result<Answer, Fault> {
        self.exchange(path, self.request(Method::GET, path)).await
    }

    /// POST of a body that is JSON already. Write a large one with [`blocking`].
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn post_json(&self, path: &str, json: Bytes) -> Result<Answer, Fault> {
        let request = self.request(Method::POST, path);
        let request = request.header(CONTENT_TYPE, "application/json").body(json);
        self.exchange(path, request).await
    }

    /// POST of a value as JSON, written on the blocking pool.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn post<T>(&self, path: &str, value: T) -> Result<Answer, Fault>
    where
        T: Serialize + Send + 'static,
    {
        let json = blocking(move || serde_json::to_vec(&value)).await;
        // Only a map whose keys are not strings cannot be written, and that is never the back end's fault.
        let json = json.map_err(|error| Fault::Garbage(error.to_string()))?;
        self.post_json(path, json.into()).await
    }

    /// POST of `multipart/form-data`.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn post_form(&self, path: &str, form: Form) -> Result<Answer, Fault> {
        let request = self.request(Method::POST, path).multipart(form);
        self.exchange(path, request).await
    }

    /// GET of an address that the back end itself gave, relative or absolute. Only this server is asked.
    ///
    /// # Errors
    /// [`Fault::Elsewhere`] for another scheme, host or port; else as [`get`](Self::get).
    pub async fn get_own(&self, address: &str) -> Result<Answer, Fault> {
        let mut below = self.inner.base.clone();
        below.set_path(&format!("{}/", below.path().trim_end_matches('/')));
        let url = below.join(address).ok();
        let own = url.filter(|url| url.origin() == self.inner.base.origin());
        let Some(url) = own else {
            return Err(self.logged("", Fault::Elsewhere));
        };
        let path = url.path().to_owned();
        self.exchange(&path, self.inner.http.request(Method::GET, url))
            .await
    }

    /// The answer again, if its status is a success.
    ///
    /// # Errors
    /// [`Fault::Status`], with the back end's own message.
    pub fn expect_success(&self, answer: Answer) -> Result<Answer, Fault> {
        if answer.status.is_success() {
            return Ok(answer);
        }
        Err(self.refusal(&answer, None))
    }

    /// The fault that an answer without success means. `retry_after` is what its body asks for; without it, its headers count.
    pub fn refusal(&self, answer: &Answer, retry_after: Option<Duration>) -> Fault {
        let message = error_message(&answer.body);
        let message = message.map_or(String::new(), |text| self.clean(&text));
        let fault = Fault::Status {
            status: answer.status,
            message,
            retry_after: retry_after.or_else(|| answer.retry_after()),
        };
        self.logged("", fault)
    }

    /// The body read as JSON, on the blocking pool.
    ///
    /// # Errors
    /// [`Fault::Garbage`], or [`Fault::BrokenOff`] where the text ends in the middle.
    pub async fn json<T>(&self, answer: Answer) -> Result<T, Fault>
    where
        T: DeserializeOwned + Send + 'static,
    {
        let media_type = answer.media_type();
        let body = answer.body;
        let read = blocking(move || serde_json::from_slice(&body)).await;
        read.map_err(|error: serde_json::Error| {
            let fault = match error.is_eof() {
                true => Fault::BrokenOff("its JSON ends in the middle".into()),
                // Not the error's own text: it may repeat the answer, which may be a whole picture.
                false => Fault::Garbage(format!(
                    "{} that is not the JSON expected, at line {} column {}",
                    match media_type.as_str() {
                        "" => "a body without a type",
                        named => named,
                    },
                    error.line(),
                    error.column()
                )),
            };
            self.logged("", fault)
        })
    }

    /// A text of the back end as one that a caller may see: one line of ASCII without addresses, paths or secrets.
    pub fn clean(&self, text: &str) -> String {
        sanitized(text, &self.inner.redactions)
    }

    /// Writes a fault to the log for the operator.
    pub fn logged(&self, path: &str, fault: Fault) -> Fault {
        let backend = self.name();
        tracing::warn!(%backend, path, "{fault}");
        note_cause(fault.to_string());
        fault
    }

    pub(super) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        // Concatenated as text: `Url::join` would drop the path of `base_url`.
        let base = self.inner.base.as_str().trim_end_matches('/');
        self.inner.http.request(method, format!("{base}{path}"))
    }

    async fn exchange(&self, path: &str, request: RequestBuilder) -> Result<Answer, Fault> {
        // The query belongs to the request, and may hold what must not be logged.
        let shown = path.split('?').next().unwrap_or_default();
        let fault = match request.send().await {
            Ok(response) => match whole(response, self.limit).await {
                Ok(answer) => return Ok(answer),
                Err(fault) => fault,
            },
            Err(error) => fault_of(&error),
        };
        Err(self.logged(shown, fault))
    }
}

/// Shows the back end's name and none of its keys.
impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Upstream").field(&self.inner.name).finish()
    }
}

async fn whole(mut response: Response, most: usize) -> Result<Answer, Fault> {
    let success = response.status().is_success();
    let limit = if success { most } else { MAX_ERROR };
    let announced = response.content_length().unwrap_or_default();
    if success && announced > limit as u64 {
        return Err(Fault::TooLarge { limit });
    }
    // The announced length is only a hint of how much to allocate.
    let mut body = BytesMut::with_capacity((announced as usize).min(1 << 20));
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if body.len() + chunk.len() <= limit => body.extend_from_slice(&chunk),
            Ok(None) => break,
            // The status says that it is an error; of its message, the part that has come is enough.
            Ok(Some(_)) | Err(_) if !success => break,
            Ok(Some(_)) => return Err(Fault::TooLarge { limit }),
            Err(error) => return Err(fault_of(&error)),
        }
    }
    Ok(Answer {
        status: response.status(),
        headers: std::mem::take(response.headers_mut()),
        body: body.freeze(),
    })
}

fn fault_of(error: &reqwest::Error) -> Fault {
    if error.is_timeout() && !error.is_connect() {
        return Fault::TimedOut;
    }
    let mut reason = String::new();
    let mut source = error.source();
    // The innermost cause is the one that says something; the ones around it repeat what was being done.
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
    let unfit = "the key does not fit into a header";
    let mut headers = HeaderMap::new();
    let mut put = |name: HeaderName, value: &str| {
        let mut value = HeaderValue::from_str(value).map_err(|_| unfit)?;
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
    // After the key: a header of the configuration replaces what the kind would send.
    for (name, value) in &remote.headers {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| "a header has no name")?;
        put(name, value.expose())?;
    }
    Ok(headers)
}
