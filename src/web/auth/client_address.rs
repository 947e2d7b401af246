//! Finds the client's address, also behind proxies.
//!
//! Any client can send `X-Forwarded-For`, so only entries of trusted proxies count. Each proxy appends its peer, so the list is read from
//! its end up to the first address that is not a trusted proxy.

use crate::application::services::AccountService;
use actix_web::HttpRequest;
use actix_web::http::header::{HeaderMap, HeaderName};
use ipnet::IpNet;
use std::net::{IpAddr, SocketAddr};

const FORWARDED: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The client's address; `None` if a trusted proxy reports an invalid address.
pub fn client_address(request: &HttpRequest, accounts: &AccountService) -> Option<IpAddr> {
    let peer = request.peer_addr()?.ip().to_canonical();
    let trusted = &accounts.settings.config.server.trusted_proxies;
    if request.headers().contains_key(&FORWARDED) && !is_in(trusted, peer) {
        accounts.auth.untrusted_proxies.warn_of(peer);
    }
    resolve(peer, request.headers(), trusted)
}

fn is_in(ranges: &[IpNet], address: IpAddr) -> bool {
    ranges.iter().any(|net| net.contains(&address))
}

fn resolve(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> Option<IpAddr> {
    let is_proxy = |address: IpAddr| is_in(trusted, address);
    let mut address = peer;
    if !is_proxy(address) {
        return Some(address);
    }
    // Not `to_str`: bytes that the client wrote must not hide the entries that the proxies appended.
    let lines = headers.get_all(&FORWARDED);
    let lines: Vec<_> = lines
        .map(|it| String::from_utf8_lossy(it.as_bytes()))
        .collect();
    let hops = lines.iter().rev().flat_map(|line| line.rsplit(','));
    for hop in hops {
        address = parse_address(hop.trim())?;
        if !is_proxy(address) {
            return Some(address);
        }
    }
    // Only proxies: the first one is the client.
    Some(address)
}

/// Some proxies add a port.
fn parse_address(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    let address = bare.unwrap_or(text).parse::<IpAddr>().ok();
    let with_port = || text.parse::<SocketAddr>().ok().map(|it| it.ip());
    address.or_else(with_port).map(|it| it.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::http::header::HeaderValue;

    fn seen(peer: &str, forwarded: &[&str]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for line in forwarded {
            headers.append(FORWARDED, HeaderValue::from_str(line).unwrap());
        }
        let trusted = ["10.0.0.0/8", "fd00::/8"].map(|net| net.parse().unwrap());
        let peer: IpAddr = peer.parse().unwrap();
        resolve(peer.to_canonical(), &headers, &trusted).map(|it| it.to_string())
    }

    #[test]
    fn a_header_counts_only_from_a_trusted_proxy() {
        assert_eq!(seen("192.0.2.1", &["198.51.100.9"]).unwrap(), "192.0.2.1");
        assert_eq!(seen("10.0.0.1", &["198.51.100.9"]).unwrap(), "198.51.100.9");
        assert_eq!(
            seen("::ffff:10.0.0.1", &["198.51.100.9"]).unwrap(),
            "198.51.100.9"
        );
        assert_eq!(seen("10.0.0.1", &[]).unwrap(), "10.0.0.1");
    }

    #[test]
    fn entries_of_the_client_are_ignored() {
        let forged = ["10.0.0.5, 203.0.113.7, 198.51.100.9, 10.0.0.2"];
        assert_eq!(seen("10.0.0.1", &forged).unwrap(), "198.51.100.9");
        let lines = ["203.0.113.7", "198.51.100.9", "fd00::1"];
        assert_eq!(seen("10.0.0.1", &lines).unwrap(), "198.51.100.9");
        assert_eq!(
            seen("10.0.0.1", &["10.0.0.7, 10.0.0.8"]).unwrap(),
            "10.0.0.7"
        );
    }

    #[test]
    fn addresses_may_have_ports_and_brackets() {
        for (written, address) in [
            ("198.51.100.9:4711", "198.51.100.9"),
            ("[2001:db8::1]:4711", "2001:db8::1"),
            ("[2001:db8::1]", "2001:db8::1"),
            ("2001:db8::1", "2001:db8::1"),
            ("::ffff:198.51.100.9", "198.51.100.9"),
        ] {
            assert_eq!(seen("10.0.0.1", &[written]).unwrap(), address);
        }
    }

    #[test]
    fn bytes_of_the_client_do_not_hide_its_address() {
        for line in [
            &b"\xff, 198.51.100.9"[..],
            b"\xc3\xa9,198.51.100.9, 10.0.0.2",
        ] {
            let mut headers = HeaderMap::new();
            headers.append(FORWARDED, HeaderValue::from_bytes(b"\xfe").unwrap());
            headers.append(FORWARDED, HeaderValue::from_bytes(line).unwrap());
            let trusted = ["10.0.0.0/8".parse().unwrap()];
            let found = resolve("10.0.0.1".parse().unwrap(), &headers, &trusted);
            assert_eq!(found, "198.51.100.9".parse().ok());
        }
    }

    #[test]
    fn an_invalid_address_leaves_the_client_unknown() {
        for bad in ["", "unknown", "198.51.100.9,", "_hidden", "1.2.3"] {
            assert_eq!(seen("10.0.0.1", &[bad]), None, "{bad}");
        }
    }
}
