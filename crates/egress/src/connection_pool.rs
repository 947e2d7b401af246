//! A pool of idle connections, by origin.
//!
//! A handshake and its round trips cost more than a webhook delivery, and the next delivery to a receiver often follows within a
//! second.

use crate::{Error, connection::Connection};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};
use url::Url;

/// Of all origins together.
const MAX_IDLE: usize = 512;

/// The target of a connection. Origins never share a connection, even at the same address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Origin {
    pub secure: bool,
    pub host: String,
    pub port: u16,
}

impl Origin {
    pub fn of(url: &Url) -> Result<Self, Error> {
        Ok(Self {
            secure: url.scheme() == "https",
            host: url.host_str().ok_or(Error::Unsendable)?.to_owned(),
            port: url.port_or_known_default().ok_or(Error::Unsendable)?,
        })
    }
}

pub(crate) struct ConnectionPool {
    idle: Mutex<Idle>,
    idle_timeout: Duration,
}

#[derive(Default)]
struct Idle {
    /// Each with its expiry, the newest last.
    connections: HashMap<Origin, Vec<(Connection, Instant)>>,
    /// Does a task run that closes expired connections?
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
    pub fn new(idle_timeout: Duration) -> Self {
        Self {
            idle: Mutex::default(),
            idle_timeout,
        }
    }

    /// Takes the newest idle connection to this origin at one of these addresses. The server may have closed it.
    pub fn take(&self, origin: &Origin, addresses: &[SocketAddr]) -> Option<Connection> {
        let (mut idle, now) = (self.idle.lock(), Instant::now());
        let of_origin = idle.connections.get_mut(origin)?;
        let matches = |(connection, end): &(Connection, Instant)| {
            *end > now && addresses.contains(&connection.peer)
        };
        let (connection, _) = of_origin
            .iter()
            .rposition(matches)
            .map(|at| of_origin.remove(at))?;
        if of_origin.is_empty() {
            idle.connections.remove(origin);
        }
        Some(connection)
    }

    /// Adds a connection, unless the pool is full.
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

    /// Closes expired connections, until the pool is empty.
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
