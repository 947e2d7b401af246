//! Warns the operator about proxies that `[server] trusted_proxies` does not list.

use parking_lot::Mutex;
use std::collections::HashSet;
use std::net::IpAddr;

/// Bounds the log and the memory: any caller can send the header.
const CAPACITY: usize = 1_000;

/// Logs each peer once.
#[derive(Default)]
pub struct UntrustedProxies {
    logged: Mutex<HashSet<IpAddr>>,
}

impl UntrustedProxies {
    /// Logs that an unlisted peer sent `X-Forwarded-For`.
    pub fn warn_of(&self, peer: IpAddr) {
        if self.is_new(peer) {
            tracing::warn!(
                %peer,
                "ignored X-Forwarded-For from a peer that is not in [server] trusted_proxies: if it is your proxy, list it, or \
                 all of its clients count as one address"
            );
        }
    }

    fn is_new(&self, peer: IpAddr) -> bool {
        let mut logged = self.logged.lock();
        logged.len() < CAPACITY && logged.insert(peer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_peer_is_logged_once_up_to_the_capacity() {
        let proxies = UntrustedProxies::default();
        let peer = |number: u32| IpAddr::from(number.to_be_bytes());
        let logged = (0..2_000).chain(0..2_000);
        let logged = logged.filter(|it| proxies.is_new(peer(*it)));
        assert_eq!(logged.count(), CAPACITY);
    }
}
