//! One request to a server and its whole answer, for the commands that talk to one.

use crate::user_agent::USER_AGENT;
use bytes::Bytes;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use serde_json::Value;
use std::time::Duration;
use tintype_egress::header::{self, HeaderMap, HeaderValue};
use tintype_egress::{Client, ClientOptions, Error, Method, SetupError, StatusCode, parse_url};

/// For one request and its answer.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The most that is kept of an answer that refuses a stream.
const MAX_REFUSAL: usize = 64 * 1024;

/// The way to a server of the user's choosing.
pub struct Exchange {
    client: Client,
}

/// A whole answer.
pub struct Answered {
    /// Its status.
    pub status: StatusCode,
    /// Its body.
    pub body: Bytes,
}

impl Exchange {
    /// Reaches every address: the server is the user's own choice, so no range is closed.
    pub fn new() -> Result<Self, SetupError> {
        let everywhere = [IpNet::V4(Ipv4Net::default()), IpNet::V6(Ipv6Net::default())];
        let client = Client::new(ClientOptions {
            allow: everywhere.into(),
            user_agent: Some(HeaderValue::from_static(USER_AGENT)),
            ..ClientOptions::default()
        })?;
        Ok(Self { client })
    }

    /// Sends a request, with a key where there is one, and reads an answer of at most `most` bytes.
    ///
    /// # Errors
    /// Why there is no whole answer, as a sentence that names neither key nor body.
    pub async fn call(
        &self,
        method: Method,
        url: &str,
        key: Option<&str>,
        body: Option<&Value>,
        most: usize,
    ) -> anyhow::Result<Answered> {
        self.send(method, url, key, body, None, most).await
    }

    /// Asks for something whose length is nobody's business, and shows it piece by piece. An answer that is none of success
    /// is given back whole.
    ///
    /// # Errors
    /// As for [`Exchange::call`], and what `each` fails with.
    pub async fn stream(
        &self,
        url: &str,
        key: &str,
        mut each: impl FnMut(&[u8]) -> anyhow::Result<()>,
    ) -> anyhow::Result<Option<Answered>> {
        let url = parse_url(url).map_err(|fault| anyhow::anyhow!("the URL {url} {fault}"))?;
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, bearer(key)?);
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
        Ok((!answer.status.is_success()).then(|| Answered {
            status: answer.status,
            body: refusal.into(),
        }))
    }

    /// The same with an idempotency key, where there is one.
    ///
    /// # Errors
    /// As for [`Exchange::call`].
    pub async fn send(
        &self,
        method: Method,
        url: &str,
        key: Option<&str>,
        body: Option<&Value>,
        once: Option<&str>,
        most: usize,
    ) -> anyhow::Result<Answered> {
        let url = parse_url(url).map_err(|fault| anyhow::anyhow!("the URL {url} {fault}"))?;
        let mut headers = HeaderMap::new();
        if let Some(key) = key {
            headers.insert(header::AUTHORIZATION, bearer(key)?);
        }
        if let Some(once) = once {
            let value = HeaderValue::from_str(once).map_err(|_| {
                anyhow::anyhow!("the idempotency key has characters that no header can carry")
            })?;
            headers.insert("idempotency-key", value);
        }
        let body = match body {
            Some(body) => {
                let json = HeaderValue::from_static("application/json");
                headers.insert(header::CONTENT_TYPE, json);
                Bytes::from(body.to_string())
            }
            None => Bytes::new(),
        };
        let exchange = async {
            let mut answer = self.client.send(method, &url, headers, body).await?;
            let mut read = Vec::new();
            while let Some(chunk) = answer.chunk().await? {
                read.extend_from_slice(&chunk);
                if read.len() > most {
                    return Ok(Err(anyhow::anyhow!("its answer has over {most} bytes")));
                }
            }
            Ok::<_, Error>(Ok(Answered {
                status: answer.status,
                body: read.into(),
            }))
        };
        match tokio::time::timeout(TIMEOUT, exchange).await {
            Ok(Ok(answered)) => answered,
            Ok(Err(fault)) => Err(anyhow::anyhow!("{fault}")),
            Err(_) => Err(anyhow::anyhow!(
                "no whole answer within {} s",
                TIMEOUT.as_secs()
            )),
        }
    }
}

fn bearer(key: &str) -> anyhow::Result<HeaderValue> {
    let mut value = HeaderValue::from_str(&format!("Bearer {key}"))
        .map_err(|_| anyhow::anyhow!("the key has characters that no header can carry"))?;
    value.set_sensitive(true);
    Ok(value)
}

/// One step of a longer exchange.
async fn in_time<T>(step: impl Future<Output = Result<T, Error>>) -> anyhow::Result<T> {
    match tokio::time::timeout(TIMEOUT, step).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(fault)) => Err(anyhow::anyhow!("{fault}")),
        Err(_) => Err(anyhow::anyhow!("nothing for {} s", TIMEOUT.as_secs())),
    }
}
