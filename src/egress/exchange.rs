//! One request and its answer over a connection of its own, through the gate.
//!
//! Not with awc: 3.11 takes a body that breaks off for a complete one, an answer without a length for an empty one, and an
//! interim answer for the final one. The last cannot be mended around it, for it closes the connection before the final one
//! comes. hyper, which the object store's client brings along anyway, gets all three right (RFC 9112 sections 6.3 and 8,
//! RFC 9110 section 15.2).

use std::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    HeaderMap, Method, Request, StatusCode,
    body::{Body, Incoming},
    client::conn::http1,
    header::{self, HeaderValue},
};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::timeout,
};
use tokio_rustls::TlsConnector;
use url::{Host, Position, Url};

use super::{Egress, EgressFault, USER_AGENT, fault::handshake_reason};

/// Most that is buffered of a connection; a head that does not fit is refused.
const MAX_BUFFER: usize = 1 << 16;

/// An answer whose body is still to be read. Dropping it closes the connection at once.
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The header fields.
    pub headers: HeaderMap,
    body: Incoming,
    connection: Driver,
}

impl Answer {
    /// The next bytes of the body, as they were sent: no encoding is undone. `None` is its end, as the server meant it.
    ///
    /// # Errors
    /// [`EgressFault::Broken`] when the connection ends or the framing fails before that.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, EgressFault> {
        loop {
            let body = &mut self.body;
            let frame = self
                .connection
                .beside(poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)))
                .await;
            match frame {
                // Trailers are of no interest, and nothing follows them.
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
                Some(Err(_)) => return Err(EgressFault::Broken),
                None => return Ok(None),
            }
        }
    }
}

impl Egress {
    /// Sends one request and waits for the head of the answer. No redirect is followed, and no time-out applies but those of
    /// connecting: the caller brings a deadline, and a bound on what it reads.
    ///
    /// `Host`, `User-Agent` and `Connection: close` are set here; the length of the body follows from it.
    ///
    /// # Errors
    /// Why there is no answer; see [`EgressFault`].
    pub async fn send(
        &self,
        method: Method,
        url: &Url,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Answer, EgressFault> {
        let request = request(method, url, headers, body)?;
        let host = url.host_str().ok_or(EgressFault::Unsendable)?;
        let port = url.port_or_known_default().ok_or(EgressFault::Unsendable)?;
        let stream = self
            .route
            .open(host, port)
            .await
            .map_err(|fault| EgressFault::from(&fault))?;
        if url.scheme() != "https" {
            return exchange(stream, request).await;
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
            Ok(Ok(stream)) => exchange(stream, request).await,
            Ok(Err(error)) => Err(EgressFault::Tls(handshake_reason(&error))),
            Err(_) => Err(EgressFault::TimedOut),
        }
    }
}

fn request(
    method: Method,
    url: &Url,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Request<Full<Bytes>>, EgressFault> {
    let host = HeaderValue::from_str(&url[Position::BeforeHost..Position::AfterPort]);
    let mut request = Request::builder()
        .method(method)
        .uri(&url[Position::BeforePath..Position::AfterQuery])
        .body(Full::new(body))
        .map_err(|_| EgressFault::Unsendable)?;
    let fields = request.headers_mut();
    *fields = headers;
    fields.insert(header::HOST, host.map_err(|_| EgressFault::Unsendable)?);
    fields.insert(header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
    fields.insert(header::CONNECTION, HeaderValue::from_static("close"));
    Ok(request)
}

async fn exchange<S>(stream: S, request: Request<Full<Bytes>>) -> Result<Answer, EgressFault>
where
    S: AsyncRead + AsyncWrite + Unpin + 'static,
{
    let broken = |_| EgressFault::Broken;
    let (mut sender, connection) = http1::Builder::new()
        .max_buf_size(MAX_BUFFER)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(broken)?;
    let mut connection = Driver::new(async move {
        // What goes wrong is told to the request or the body that it goes wrong for.
        let _ = connection.await;
    });
    let answer = connection
        .beside(sender.send_request(request))
        .await
        .map_err(broken)?;
    let (head, body) = answer.into_parts();
    Ok(Answer {
        status: head.status,
        headers: head.headers,
        body,
        connection,
    })
}

/// hyper's side of a connection, which has to be run for anything to happen. It runs beside whatever waits for it, and not
/// as a task, so that it ends with its owner.
struct Driver(Option<Pin<Box<dyn Future<Output = ()>>>>);

impl Driver {
    fn new(connection: impl Future<Output = ()> + 'static) -> Self {
        Self(Some(Box::pin(connection)))
    }

    fn run(&mut self, cx: &mut Context<'_>) {
        if let Some(connection) = &mut self.0
            && connection.as_mut().poll(cx).is_ready()
        {
            self.0 = None;
        }
    }

    async fn beside<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        poll_fn(|cx| {
            if let Poll::Ready(outcome) = work.as_mut().poll(cx) {
                return Poll::Ready(outcome);
            }
            self.run(cx);
            // What the connection has just received is there to be taken.
            work.as_mut().poll(cx)
        })
        .await
    }
}
