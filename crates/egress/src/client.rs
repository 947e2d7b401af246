//! The client: one request and its response, over a connection of its own or over a pooled one.
//!
//! The client is built on hyper, not on awc. awc 3.11 takes a body that breaks off for a complete one, an answer without a length
//! for an empty one, and an interim answer for the final one (RFC 9112 sections 6.3 and 8, RFC 9110 section 15.2). It is not built
//! on the pools of hyper-util or reqwest either: they look a name up when they open a connection, and this client judges the
//! addresses of a name before each request.

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
use url::{Host, Position, Url};

use crate::{
    AddressGate, Error, Resolve, Response, SetupError, SystemResolver,
    connection::Connection,
    connection_pool::{ConnectionPool, Origin},
    connector::Connector,
    error::handshake_reason,
    response::Home,
    tls,
};

/// How long [`Client::check`] looks a host up.
const CHECK_TIMEOUT: Duration = Duration::from_secs(3);

/// What can be set about requests.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// Ranges that are reachable although they are not public.
    pub allow: Vec<IpNet>,
    /// Ranges that are not reachable although they are public, or part of `allow`.
    pub deny: Vec<IpNet>,
    /// For look-up and connection together; the TLS handshake gets as much again.
    pub connect_timeout: Duration,
    /// A PEM file of certificate authorities beside the system's.
    pub extra_ca_file: Option<PathBuf>,
    /// How long a connection waits for the next request of [`Client::send_pooled`]. Servers close what is idle after two seconds
    /// at the least, and a request that crosses such a close is lost.
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

/// Sends requests: made once, shared by all threads, cheap to clone.
#[derive(Clone)]
pub struct Client {
    connector: Arc<Connector>,
    tls: Arc<rustls::ClientConfig>,
    pool: Arc<ConnectionPool>,
    user_agent: Option<HeaderValue>,
}

impl Client {
    /// A client with the system's resolver.
    ///
    /// # Errors
    /// See [`SetupError`].
    pub fn new(options: ClientOptions) -> Result<Self, SetupError> {
        Self::with_resolver(options, Arc::new(SystemResolver::default()))
    }

    /// A client with a resolver of the caller's choosing.
    ///
    /// # Errors
    /// See [`SetupError`].
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

    /// The gate, for checks before anything is sent (see [`AddressGate::check_host`]).
    pub fn gate(&self) -> &AddressGate {
        &self.connector.gate
    }

    /// Looks the host of a URL up and asks the gate, as a request to it would.
    ///
    /// # Errors
    /// [`Error::NotPublic`] if no address that may be reached is found within three seconds.
    pub async fn check(&self, url: &Url) -> Result<(), Error> {
        let origin = Origin::of(url)?;
        let permitted = self.connector.permitted(&origin.host, origin.port);
        match timeout(CHECK_TIMEOUT, permitted).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(Error::NotPublic),
        }
    }

    /// Connections that the gate has refused since the start.
    pub fn refusals(&self) -> u64 {
        self.connector.refusals.load(Ordering::Relaxed)
    }

    /// Sends one request over a connection of its own and waits for the head of the response. No redirect is followed, and no
    /// time-out applies but those of connecting: the caller brings a deadline, and a bound on what it reads.
    ///
    /// `Host`, `User-Agent` and `Connection: close` are set here; the length of the body follows from it.
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

    /// As [`Client::send`], over a pooled connection where there is one. The connection goes back to the pool once the response
    /// has been read to its end.
    ///
    /// The host is looked up and judged by the gate all the same, and only a connection to one of the addresses that pass is
    /// used. One that turns out to be closed before the request was written whole is replaced by a new one. A request that was
    /// written whole is never sent again, for the server may have acted on it.
    ///
    /// # Errors
    /// As [`Client::send`].
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
            if !connection.is_free().await {
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
                    // The time that writing took is not that of connecting.
                    deadline = self.connector.deadline();
                    break;
                }
            }
        }
        let stream = self.connector.connect(&addresses, deadline).await?;
        let home = (Arc::clone(&self.pool), origin);
        self.exchange(url, stream, request, Some(home)).await
    }

    /// The first exchange over a stream.
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

    /// Makes a stream secure where the URL says so, and speaks HTTP over it.
    async fn start_http(&self, url: &Url, stream: TcpStream) -> Result<Connection, Error> {
        let peer = stream.peer_addr().map_err(|_| Error::Broken)?;
        if url.scheme() != "https" {
            return Connection::over(stream, peer)
                .await
                .map_err(|_| Error::Broken);
        }
        let name = match url.host() {
            Some(Host::Domain(name)) => ServerName::try_from(name.to_owned()).ok(),
            Some(Host::Ipv4(v4)) => Some(ServerName::from(std::net::IpAddr::V4(v4))),
            Some(Host::Ipv6(v6)) => Some(ServerName::from(std::net::IpAddr::V6(v6))),
            None => None,
        };
        let name = name.ok_or(Error::Tls("its name cannot stand in a certificate"))?;
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
