//! One request and its answer, through the gate: over a connection of its own, or over one that an earlier exchange has left.
//!
//! Not with awc: 3.11 takes a body that breaks off for a complete one, an answer without a length for an empty one, and an
//! interim answer for the final one. The last cannot be mended around it, for it closes the connection before the final one
//! comes. hyper, which the object store's client brings along anyway, gets all three right (RFC 9112 sections 6.3 and 8,
//! RFC 9110 section 15.2).

use std::{future::poll_fn, pin::Pin, sync::Arc};

use bytes::Bytes;
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode,
    body::{Body, Incoming},
    header::{self, HeaderValue},
};
use rustls::pki_types::ServerName;
use tokio::{net::TcpStream, time::timeout};
use tokio_rustls::TlsConnector;
use url::{Host, Position, Url};

use super::{
    Egress, EgressFault, USER_AGENT,
    connection::{Connection, NoAnswer},
    fault::handshake_reason,
    kept::{Kept, Origin},
};

/// An answer whose body is still to be read. Dropping it before its end closes the connection at once.
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The header fields.
    pub headers: HeaderMap,
    body: Incoming,
    /// Until the end of the body.
    connection: Option<Connection>,
    /// Where the connection is kept then.
    home: Option<(Arc<Kept>, Origin)>,
}

impl Answer {
    /// The next bytes of the body, as they were sent: no encoding is undone. `None` is its end, as the server meant it.
    ///
    /// # Errors
    /// [`EgressFault::Broken`] when the connection ends or the framing fails before that.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, EgressFault> {
        while let Some(connection) = &mut self.connection {
            let body = &mut self.body;
            let frame = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx));
            match connection.beside(frame).await {
                // Trailers are of no interest, and nothing follows them.
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
                Some(Err(_)) => return Err(EgressFault::Broken),
                None => self.let_go(),
            }
        }
        Ok(None)
    }

    fn let_go(&mut self) {
        let connection = self.connection.take();
        if let (Some(connection), Some((kept, origin))) = (connection, self.home.take()) {
            kept.keep(origin, connection);
        }
    }
}

impl Egress {
    /// Sends one request over a connection of its own and waits for the head of the answer. No redirect is followed, and no
    /// time-out applies but those of connecting: the caller brings a deadline, and a bound on what it reads.
    ///
    /// `Host`, `User-Agent` and `Connection: close` are set here; the length of the body follows from it.
    ///
    /// # Errors
    /// Why there is no answer; see [`EgressFault`].
    pub async fn send(
        &self,
        method: Method,
        url: &Url,
        mut headers: HeaderMap,
        body: Bytes,
    ) -> Result<Answer, EgressFault> {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        let request = request(method, url, headers, body)?;
        let (origin, deadline) = (Origin::of(url)?, self.route.deadline());
        let looked_up = self.route.look_up(&origin.host, origin.port, deadline);
        let stream = self.route.connect(&looked_up.await?, deadline).await?;
        self.exchange(url, stream, request, None).await
    }

    /// As [`Egress::send`], over a connection that an earlier request has left where there is one. It is kept for the next
    /// for a moment once the answer has been read to its end.
    ///
    /// The host is looked up and judged by the gate all the same, and only a connection to one of the addresses that pass is
    /// used. One that turns out to be closed before the request was written whole is replaced by a new one. A request that was
    /// written whole is never sent again, for the server may have acted on it.
    ///
    /// # Errors
    /// As [`Egress::send`].
    pub async fn send_over_kept(
        &self,
        method: Method,
        url: &Url,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Answer, EgressFault> {
        let request = request(method, url, headers, body)?;
        let (origin, mut deadline) = (Origin::of(url)?, self.route.deadline());
        let looked_up = self.route.look_up(&origin.host, origin.port, deadline);
        let addresses = looked_up.await?;
        while let Some(mut connection) = self.kept.take(&origin, &addresses) {
            if !connection.is_free().await {
                continue;
            }
            match connection.exchange(request.clone()).await {
                Ok(answered) => return Ok(answer(answered, connection, self.home(origin))),
                Err(lost) if lost.was_written || lost.error.is_parse() => {
                    return Err(EgressFault::Broken);
                }
                Err(_) => {
                    // The time that writing took is not that of connecting.
                    deadline = self.route.deadline();
                    break;
                }
            }
        }
        let stream = self.route.connect(&addresses, deadline).await?;
        self.exchange(url, stream, request, self.home(origin)).await
    }

    /// The first exchange over a stream.
    async fn exchange(
        &self,
        url: &Url,
        stream: TcpStream,
        request: Request<Bytes>,
        home: Option<(Arc<Kept>, Origin)>,
    ) -> Result<Answer, EgressFault> {
        let mut connection = self.converse(url, stream).await?;
        let answered = connection
            .exchange(request)
            .await
            .map_err(|lost: NoAnswer| broken(lost.error))?;
        Ok(answer(answered, connection, home))
    }

    fn home(&self, origin: Origin) -> Option<(Arc<Kept>, Origin)> {
        Some((Arc::clone(&self.kept), origin))
    }

    /// Makes a stream secure where the URL says so, and speaks HTTP over it.
    async fn converse(&self, url: &Url, stream: TcpStream) -> Result<Connection, EgressFault> {
        let peer = stream.peer_addr().map_err(|_| EgressFault::Broken)?;
        if url.scheme() != "https" {
            return Connection::over(stream, peer).await.map_err(broken);
        }
        let name = match url.host() {
            Some(Host::Domain(name)) => ServerName::try_from(name.to_owned()).ok(),
            Some(Host::Ipv4(v4)) => Some(ServerName::from(std::net::IpAddr::V4(v4))),
            Some(Host::Ipv6(v6)) => Some(ServerName::from(std::net::IpAddr::V6(v6))),
            None => None,
        };
        let name = name.ok_or(EgressFault::Tls("its name cannot stand in a certificate"))?;
        let secure = TlsConnector::from(self.tls.clone()).connect(name, stream);
        match timeout(self.route.timeout, secure).await {
            Ok(Ok(stream)) => Connection::over(stream, peer).await.map_err(broken),
            Ok(Err(error)) => Err(EgressFault::Tls(handshake_reason(&error))),
            Err(_) => Err(EgressFault::TimedOut),
        }
    }
}

fn broken(_: hyper::Error) -> EgressFault {
    EgressFault::Broken
}

fn answer(
    answered: Response<Incoming>,
    connection: Connection,
    home: Option<(Arc<Kept>, Origin)>,
) -> Answer {
    let (head, body) = answered.into_parts();
    Answer {
        status: head.status,
        headers: head.headers,
        body,
        connection: Some(connection),
        home,
    }
}

fn request(
    method: Method,
    url: &Url,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Request<Bytes>, EgressFault> {
    let host = HeaderValue::from_str(&url[Position::BeforeHost..Position::AfterPort]);
    let mut request = Request::builder()
        .method(method)
        .uri(&url[Position::BeforePath..Position::AfterQuery])
        .body(body)
        .map_err(|_| EgressFault::Unsendable)?;
    let fields = request.headers_mut();
    *fields = headers;
    fields.insert(header::HOST, host.map_err(|_| EgressFault::Unsendable)?);
    fields.insert(header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
    Ok(request)
}
