//! Tells the operator about proxies that `[server] trusted_proxies` does not list.

use parking_lot::Mutex;
use std::collections::HashSet;
use std::net::IpAddr;

/// The log names at most this many peers: any caller can send the header.
const CAPACITY: usize = 1_000;

/// Peers that have been told of, each once.
#[derive(Default)]
pub struct UntrustedProxies {
    told: Mutex<HashSet<IpAddr>>,
}

impl UntrustedProxies {
    /// Logs that a peer outside of the list has sent `X-Forwarded-For`.
    pub fn note(&self, peer: IpAddr) {
        if self.is_new(peer) {
            tracing::warn!(
                %peer,
                "ignored X-Forwarded-For from a peer that is not in [server] trusted_proxies: if it is your proxy, list it, or \
                 all of its clients count as one address"
            );
        }
    }

    fn is_new(&self, peer: IpAddr) -> bool {
        let mut told = self.told.lock();
        told.len() < CAPACITY && told.insert(peer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_peer_is_told_of_once_and_only_so_many() {
        let proxies = UntrustedProxies::default();
        let peer = |number: u32| IpAddr::from(number.to_be_bytes());
        let told = (0..2_000).chain(0..2_000);
        let told = told.filter(|it| proxies.is_new(peer(*it)));
        assert_eq!(told.count(), CAPACITY);
    }
}
