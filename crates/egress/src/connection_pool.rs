//! Idle connections, kept for a moment for the next request to the same origin.
//!
//! A handshake and its round trips cost more than a webhook itself, and a receiver that hears of one job often hears of the next
//! within the second.

use crate::{Error, connection::Connection};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};
use url::Url;

/// Idle connections at most, to all origins together.
const MAX_IDLE: usize = 512;

/// Where a connection leads to. Two origins never share a connection, even at one address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Origin {
    pub secure: bool,
    pub host: String,
    pub port: u16,
}

impl Origin {
    /// That of a URL.
    pub fn of(url: &Url) -> Result<Self, Error> {
        Ok(Self {
            secure: url.scheme() == "https",
            host: url.host_str().ok_or(Error::Unsendable)?.to_owned(),
            port: url.port_or_known_default().ok_or(Error::Unsendable)?,
        })
    }
}

/// Idle connections by origin.
pub(crate) struct ConnectionPool {
    idle: Mutex<Idle>,
    idle_timeout: Duration,
}

#[derive(Default)]
struct Idle {
    /// Each with the moment at which it is closed. The newest is the last.
    connections: HashMap<Origin, Vec<(Connection, Instant)>>,
    /// A task runs that closes those whose moment has passed.
    has_reaper: bool,
}

impl Idle {
    fn close_expired(&mut self, now: Instant) {
        self.connections.retain(|_, idle| {
            idle.retain(|(_, end)| *end > now);
            !idle.is_empty()
        });
    }

    fn count(&self) -> usize {
        self.connections.values().map(Vec::len).sum()
    }
}

impl ConnectionPool {
    /// An empty pool whose connections are closed when no request has used them for `idle_timeout`.
    pub fn new(idle_timeout: Duration) -> Self {
        Self {
            idle: Mutex::default(),
            idle_timeout,
        }
    }

    /// An idle connection to this origin at one of these addresses, the newest first. The server may have closed it.
    pub fn take(&self, origin: &Origin, addresses: &[SocketAddr]) -> Option<Connection> {
        let (mut idle, now) = (self.idle.lock(), Instant::now());
        let of_origin = idle.connections.get_mut(origin)?;
        let fits = |(connection, end): &(Connection, Instant)| {
            *end > now && addresses.contains(&connection.peer)
        };
        let (connection, _) = of_origin
            .iter()
            .rposition(fits)
            .map(|at| of_origin.remove(at))?;
        if of_origin.is_empty() {
            idle.connections.remove(origin);
        }
        Some(connection)
    }

    /// Keeps a connection, if there is room.
    pub fn put(self: Arc<Self>, origin: Origin, connection: Connection) {
        let mut idle = self.idle.lock();
        if idle.count() >= MAX_IDLE {
            return;
        }
        let end = Instant::now() + self.idle_timeout;
        let of_origin = idle.connections.entry(origin).or_default();
        of_origin.push((connection, end));
        if !std::mem::replace(&mut idle.has_reaper, true) {
            drop(idle);
            tokio::spawn(self.reap(end));
        }
    }

    /// Closes connections that no request used in time, until none is left.
    async fn reap(self: Arc<Self>, mut next: Instant) {
        loop {
            sleep_until(next).await;
            let now = Instant::now();
            let mut idle = self.idle.lock();
            idle.close_expired(now);
            if idle.connections.is_empty() {
                idle.has_reaper = false;
                return;
            }
            next = now + self.idle_timeout;
        }
    }
}
