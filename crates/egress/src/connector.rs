//! The connector resolves a name, checks every address, and connects to an address that passed.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::{
    net::TcpStream,
    time::{Instant, timeout, timeout_at},
};

use crate::{AddressGate, Error, Resolve};

/// Addresses of one name that are checked. A name with more is a mistake or an attack.
const MAX_ADDRESSES: usize = 64;
const MAX_ATTEMPTS: usize = 8;
/// The delay before the next address is tried in parallel (RFC 8305 section 5).
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

pub(crate) struct Connector {
    pub gate: AddressGate,
    pub resolver: Arc<dyn Resolve>,
    /// For lookup and connection together.
    pub timeout: Duration,
    /// The number of lookups since the start whose addresses the gate refused.
    pub refusals: AtomicU64,
}

impl Connector {
    /// The deadline of a connection that begins now.
    pub fn deadline(&self) -> Instant {
        Instant::now() + self.timeout
    }

    /// As [`Connector::permitted`], with a deadline.
    pub async fn look_up(
        &self,
        host: &str,
        port: u16,
        deadline: Instant,
    ) -> Result<Vec<SocketAddr>, Error> {
        timeout_at(deadline, self.permitted(host, port))
            .await
            .unwrap_or(Err(Error::TimedOut))
    }

    /// Connects to one of these addresses, which must have passed the gate.
    pub async fn connect(
        &self,
        addresses: &[SocketAddr],
        deadline: Instant,
    ) -> Result<TcpStream, Error> {
        timeout_at(deadline, connect_first(addresses))
            .await
            .map_err(|_| Error::TimedOut)?
            .map_err(|error| Error::Unreachable(reason(&error)))
    }

    /// Resolves `host` and returns the addresses that pass the gate.
    pub async fn permitted(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, Error> {
        let answers = match literal(host) {
            Some(ip) => vec![ip],
            None => self.resolver.resolve(host).await.map_err(|error| {
                tracing::debug!(host, %error, "lookup failed");
                match error.kind() {
                    io::ErrorKind::TimedOut => Error::LookupTimedOut,
                    _ => Error::NotPublic,
                }
            })?,
        };
        if answers.is_empty() {
            tracing::debug!(host, "the name has no address");
            return Err(Error::NotPublic);
        }
        let passes = |ip: &IpAddr| match self.gate.check(*ip) {
            Ok(()) => true,
            Err(refused) => {
                let (purpose, source) = (refused.purpose, refused.authority);
                tracing::debug!(host, %ip, purpose, source, "address refused");
                false
            }
        };
        let passed: Vec<_> = answers
            .into_iter()
            .take(MAX_ADDRESSES)
            .filter(passes)
            .take(MAX_ATTEMPTS)
            .map(|ip| SocketAddr::new(ip, port))
            .collect();
        if passed.is_empty() {
            self.refusals.fetch_add(1, Ordering::Relaxed);
            return Err(Error::NotPublic);
        }
        Ok(passed)
    }
}

fn reason(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection refused",
        io::ErrorKind::ConnectionReset => "connection reset",
        io::ErrorKind::TimedOut => "connection timed out",
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => "no route to it",
        _ => "connection failed",
    }
}

fn literal(host: &str) -> Option<IpAddr> {
    let bare = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(host);
    bare.parse().ok()
}

/// Returns the first connection that succeeds. Tries the next address after [`ATTEMPT_DELAY`], or when the previous one fails.
async fn connect_first(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut untried = addresses.iter();
    let mut attempts = FuturesUnordered::new();
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    loop {
        if let Some(address) = untried.next() {
            attempts.push(TcpStream::connect(*address));
        }
        let outcome = if untried.len() > 0 {
            match timeout(ATTEMPT_DELAY, attempts.next()).await {
                Ok(outcome) => outcome,
                Err(_) => continue,
            }
        } else {
            attempts.next().await
        };
        match outcome {
            Some(Ok(stream)) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Some(Err(error)) => last = error,
            None => return Err(last),
        }
    }
}
