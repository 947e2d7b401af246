//! The client: one request and its response, over a new or a pooled connection.
//!
//! The client uses hyper, not awc. awc 3.11 takes a truncated body for a complete one, a response without a length for an empty one,
//! and an interim response for the final one (RFC 9112 sections 6.3 and 8, RFC 9110 section 15.2). The client does not use the pools
//! of hyper-util or reqwest either: they resolve a name when they open a connection, and this client checks the addresses of a name
//! before each request.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use hyper::{
    HeaderMap, Method, Request,
    header::{self, HeaderValue},
};
use ipnet::IpNet;
use rustls::pki_types::ServerName;
use tokio::{net::TcpStream, time::timeout};
use tokio_rustls::TlsConnector;
use url::{Position, Url};

use crate::{
    AddressGate, Error, Resolve, Response, SetupError, SystemResolver,
    connection::Connection,
    connection_pool::{ConnectionPool, Origin},
    connector::Connector,
    error::handshake_reason,
    response::Home,
    tls,
};

/// Of the lookup in [`Client::check`], with its wait for a slot. [`SystemResolver`] limits the lookup alone.
const CHECK_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// Allowed ranges that are not public.
    pub allow: Vec<IpNet>,
    /// Denied ranges, even if they are public or part of `allow`.
    pub deny: Vec<IpNet>,
    /// For lookup and connection together. The TLS handshake has the same time again.
    pub connect_timeout: Duration,
    /// A PEM file of certificate authorities, in addition to the system's.
    pub extra_ca_file: Option<PathBuf>,
    /// How long [`Client::send_pooled`] keeps an idle connection. Servers close idle connections after two seconds or later, and a
    /// request that crosses such a close is lost.
    pub idle_timeout: Duration,
    /// The `User-Agent` of every request.
    pub user_agent: Option<HeaderValue>,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            allow: Vec::new(),
            deny: Vec::new(),
            connect_timeout: Duration::from_secs(10),
            extra_ca_file: None,
            idle_timeout: Duration::from_secs(1),
            user_agent: None,
        }
    }
}

/// An HTTP client. All threads share one. It is cheap to clone.
#[derive(Clone)]
pub struct Client {
    connector: Arc<Connector>,
    tls: Arc<rustls::ClientConfig>,
    pool: Arc<ConnectionPool>,
    user_agent: Option<HeaderValue>,
}

impl Client {
    /// A client with the system's resolver.
    pub fn new(options: ClientOptions) -> Result<Self, SetupError> {
        Self::with_resolver(options, Arc::new(SystemResolver::default()))
    }

    pub fn with_resolver(
        options: ClientOptions,
        resolver: Arc<dyn Resolve>,
    ) -> Result<Self, SetupError> {
        let tls = tls::client_config(options.extra_ca_file.as_deref())?;
        let connector = Connector {
            gate: AddressGate::new(options.allow, options.deny),
            resolver,
            timeout: options.connect_timeout,
            refusals: AtomicU64::new(0),
        };
        Ok(Self {
            connector: Arc::new(connector),
            tls: Arc::new(tls),
            pool: Arc::new(ConnectionPool::new(options.idle_timeout)),
            user_agent: options.user_agent,
        })
    }

    /// The gate, for checks before a request (see [`AddressGate::check_host`]).
    pub fn gate(&self) -> &AddressGate {
        &self.connector.gate
    }

    /// Resolves the host of a URL and checks its addresses, as a request would.
    ///
    /// # Errors
    /// [`Error::NotPublic`] without a permitted address; [`Error::LookupTimedOut`]
    pub async fn check(&self, url: &Url) -> Result<(), Error> {
        let origin = Origin::of(url)?;
        let permitted = self.connector.permitted(&origin.host, origin.port);
        let checked = timeout(CHECK_TIMEOUT, permitted).await;
        checked.unwrap_or(Err(Error::LookupTimedOut)).map(drop)
    }

    /// The number of lookups since the start whose addresses the gate refused.
    pub fn refusals(&self) -> u64 {
        self.connector.refusals.load(Ordering::Relaxed)
    }

    /// Sends one request over a new connection and waits for the head of the response. Follows no redirects. Only connecting has a
    /// timeout: the caller sets a deadline, and limits what it reads.
    ///
    /// Sets `Host`, `User-Agent`, `Connection: close` and the length of the body.
    ///
    /// # Errors
    /// Why there is no response; see [`Error`].
    pub async fn send(
        &self,
        method: Method,
        url: &Url,
        mut headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response, Error> {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        let request = self.request(method, url, headers, body)?;
        let (origin, deadline) = (Origin::of(url)?, self.connector.deadline());
        let looked_up = self
            .connector
            .look_up(&origin.host, origin.port, deadline)
            .await?;
        let stream = self.connector.connect(&looked_up, deadline).await?;
        self.exchange(url, stream, request, None).await
    }

    /// As [`Client::send`], over a pooled connection if there is one. The connection returns to the pool when the caller has read the
    /// whole response.
    ///
    /// The client resolves and checks the host nevertheless, and uses only a connection to an address that passes. If the connection
    /// turns out to be closed before the whole request is written, a new connection replaces it. A request that was written
    /// completely is never sent again, because the server may have acted on it.
    pub async fn send_pooled(
        &self,
        method: Method,
        url: &Url,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response, Error> {
        let request = self.request(method, url, headers, body)?;
        let (origin, mut deadline) = (Origin::of(url)?, self.connector.deadline());
        let addresses = self
            .connector
            .look_up(&origin.host, origin.port, deadline)
            .await?;
        while let Some(mut connection) = self.pool.take(&origin, &addresses) {
            if !connection.is_ready().await {
                continue;
            }
            match connection.exchange(request.clone()).await {
                Ok(response) => {
                    let home = (Arc::clone(&self.pool), origin);
                    return Ok(Response::new(response, connection, Some(home)));
                }
                Err(lost) if lost.was_written || lost.error.is_parse() => {
                    return Err(Error::Broken);
                }
                Err(_) => {
                    // The time spent writing does not count as connecting.
                    deadline = self.connector.deadline();
                    break;
                }
            }
        }
        let stream = self.connector.connect(&addresses, deadline).await?;
        let home = (Arc::clone(&self.pool), origin);
        self.exchange(url, stream, request, Some(home)).await
    }

    /// Sends the first request over a stream.
    async fn exchange(
        &self,
        url: &Url,
        stream: TcpStream,
        request: Request<Bytes>,
        home: Option<Home>,
    ) -> Result<Response, Error> {
        let mut connection = self.start_http(url, stream).await?;
        let response = connection.exchange(request).await;
        let response = response.map_err(|_| Error::Broken)?;
        Ok(Response::new(response, connection, home))
    }

    /// Starts HTTP over a stream, with TLS if the URL requires it.
    async fn start_http(&self, url: &Url, stream: TcpStream) -> Result<Connection, Error> {
        let peer = stream.peer_addr().map_err(|_| Error::Broken)?;
        if url.scheme() != "https" {
            return Connection::over(stream, peer)
                .await
                .map_err(|_| Error::Broken);
        }
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let name = ServerName::try_from(host.to_owned());
        let name = name.map_err(|_| Error::Tls("its name cannot be in a certificate"))?;
        let secure = TlsConnector::from(Arc::clone(&self.tls)).connect(name, stream);
        match timeout(self.connector.timeout, secure).await {
            Ok(Ok(stream)) => Connection::over(stream, peer)
                .await
                .map_err(|_| Error::Broken),
            Ok(Err(error)) => Err(Error::Tls(handshake_reason(&error))),
            Err(_) => Err(Error::TimedOut),
        }
    }

    fn request(
        &self,
        method: Method,
        url: &Url,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Request<Bytes>, Error> {
        let host = HeaderValue::from_str(&url[Position::BeforeHost..Position::AfterPort]);
        let mut request = Request::builder()
            .method(method)
            .uri(&url[Position::BeforePath..Position::AfterQuery])
            .body(body)
            .map_err(|_| Error::Unsendable)?;
        let fields = request.headers_mut();
        *fields = headers;
        fields.insert(header::HOST, host.map_err(|_| Error::Unsendable)?);
        if let Some(user_agent) = &self.user_agent {
            fields.insert(header::USER_AGENT, user_agent.clone());
        }
        Ok(request)
    }
}
