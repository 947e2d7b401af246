//! Connections that are kept for a moment after an exchange, for the next request to the same place.
//!
//! A look-up, a handshake and their round trips cost more than a webhook itself, and whoever is told of one job is often told of
//! the next within the second.

use super::{EgressFault, connection::Connection};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};
use url::Url;

/// Connections that are kept at most, to all places together.
const MOST: usize = 512;

/// Where a connection leads to. Between two of these nothing is ever shared, even at one address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Origin {
    pub secure: bool,
    pub host: String,
    pub port: u16,
}

impl Origin {
    /// That of a URL.
    pub fn of(url: &Url) -> Result<Self, EgressFault> {
        Ok(Self {
            secure: url.scheme() == "https",
            host: url.host_str().ok_or(EgressFault::Unsendable)?.to_owned(),
            port: url.port_or_known_default().ok_or(EgressFault::Unsendable)?,
        })
    }
}

/// The connections that are kept.
pub(super) struct Kept {
    idle: Mutex<Idle>,
    /// How long each is.
    moment: Duration,
}

#[derive(Default)]
struct Idle {
    /// With the moment at which it ends. The newest is the last.
    connections: HashMap<Origin, Vec<(Connection, Instant)>>,
    /// Somebody will close those whose moment has passed.
    is_watched: bool,
}

impl Idle {
    fn drop_old(&mut self, now: Instant) {
        self.connections.retain(|_, kept| {
            kept.retain(|(_, end)| *end > now);
            !kept.is_empty()
        });
    }

    fn count(&self) -> usize {
        self.connections.values().map(Vec::len).sum()
    }
}

impl Kept {
    /// None yet; each will be kept for this long.
    pub fn for_a_moment(moment: Duration) -> Self {
        Self {
            idle: Mutex::default(),
            moment,
        }
    }

    /// A connection to this place at one of these addresses, the newest first. Whether it still stands shows when it is used.
    pub fn take(&self, origin: &Origin, addresses: &[SocketAddr]) -> Option<Connection> {
        let (mut idle, now) = (self.idle.lock(), Instant::now());
        let kept = idle.connections.get_mut(origin)?;
        let fits = |(connection, end): &(Connection, Instant)| {
            *end > now && addresses.contains(&connection.peer)
        };
        let (connection, _) = kept.iter().rposition(fits).map(|at| kept.remove(at))?;
        if kept.is_empty() {
            idle.connections.remove(origin);
        }
        Some(connection)
    }

    /// Keeps a connection for a moment, if there is room.
    pub fn keep(self: Arc<Self>, origin: Origin, connection: Connection) {
        let mut idle = self.idle.lock();
        if idle.count() >= MOST {
            return;
        }
        let end = Instant::now() + self.moment;
        let kept = idle.connections.entry(origin).or_default();
        kept.push((connection, end));
        if !std::mem::replace(&mut idle.is_watched, true) {
            drop(idle);
            tokio::spawn(self.watch(end));
        }
    }

    /// Closes what is not used again, until nothing is left.
    async fn watch(self: Arc<Self>, mut next: Instant) {
        loop {
            sleep_until(next).await;
            let now = Instant::now();
            let mut idle = self.idle.lock();
            idle.drop_old(now);
            if idle.connections.is_empty() {
                idle.is_watched = false;
                return;
            }
            next = now + self.moment;
        }
    }
}
