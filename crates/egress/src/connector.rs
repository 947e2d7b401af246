//! Opening connections: resolve, check every address, connect to exactly the address that was checked.

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

use super::{gate::AddressGate, resolve::Resolve};

/// Addresses of one answer that are looked at. A name with more is either a mistake or an attack.
const MAX_ANSWERS: usize = 64;
/// Checked addresses that are tried at most.
const MAX_ATTEMPTS: usize = 8;
/// Head start of each address before the next is tried beside it (RFC 8305 section 5).
const HEAD_START: Duration = Duration::from_millis(250);

/// Why no connection was opened.
#[derive(Debug, thiserror::Error)]
pub(super) enum OpenFault {
    /// The host has addresses, none of which may be reached.
    #[error("the address is refused")]
    Refused,
    /// The name has no addresses or could not be looked up.
    #[error("the name does not resolve")]
    Unresolved,
    /// Looking up or connecting took too long.
    #[error("connecting took too long")]
    TimedOut,
    /// Every permitted address failed; this is the last failure.
    #[error("the host cannot be reached")]
    Unreachable(#[source] io::Error),
}

/// What a connection needs, shared by all worker threads.
pub(super) struct Route {
    pub gate: AddressGate,
    pub resolver: Arc<dyn Resolve>,
    /// For look-up and connection together.
    pub timeout: Duration,
    /// Connections not opened because of the gate, since the start.
    pub refusals: AtomicU64,
}

impl Route {
    /// When a connection that is wanted now must have come about.
    pub fn deadline(&self) -> Instant {
        Instant::now() + self.timeout
    }

    /// As [`Route::permitted`], until a deadline.
    pub async fn look_up(
        &self,
        host: &str,
        port: u16,
        deadline: Instant,
    ) -> Result<Vec<SocketAddr>, OpenFault> {
        timeout_at(deadline, self.permitted(host, port))
            .await
            .unwrap_or(Err(OpenFault::TimedOut))
    }

    /// Opens a connection to one of these addresses, which have passed the gate, until a deadline.
    pub async fn connect(
        &self,
        addresses: &[SocketAddr],
        deadline: Instant,
    ) -> Result<TcpStream, OpenFault> {
        timeout_at(deadline, connect_first(addresses))
            .await
            .map_err(|_| OpenFault::TimedOut)?
            .map_err(OpenFault::Unreachable)
    }

    /// The addresses of `host` that may be reached. Of a mixed answer the public ones are used, never the others.
    pub async fn permitted(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, OpenFault> {
        let answers = match literal(host) {
            Some(ip) => vec![ip],
            None => self.resolver.resolve(host).await.map_err(|error| {
                tracing::debug!(host, %error, "look-up failed");
                OpenFault::Unresolved
            })?,
        };
        if answers.is_empty() {
            return Err(OpenFault::Unresolved);
        }
        let pass = |ip: &IpAddr| match self.gate.check(*ip) {
            Ok(()) => true,
            Err(refused) => {
                let (purpose, source) = (refused.purpose(), refused.source());
                tracing::debug!(host, %ip, purpose, source, "address refused");
                false
            }
        };
        let passed: Vec<_> = answers
            .into_iter()
            .take(MAX_ANSWERS)
            .filter(pass)
            .take(MAX_ATTEMPTS)
            .map(|ip| SocketAddr::new(ip, port))
            .collect();
        if passed.is_empty() {
            self.refusals.fetch_add(1, Ordering::Relaxed);
            return Err(OpenFault::Refused);
        }
        Ok(passed)
    }
}

fn literal(host: &str) -> Option<IpAddr> {
    let bare = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(host);
    bare.parse().ok()
}

/// The first connection that comes about, each further address started a little after the one before or when that fails.
async fn connect_first(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut untried = addresses.iter();
    let mut attempts = FuturesUnordered::new();
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    loop {
        if let Some(address) = untried.next() {
            attempts.push(TcpStream::connect(*address));
        }
        let outcome = if untried.len() > 0 {
            match timeout(HEAD_START, attempts.next()).await {
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
