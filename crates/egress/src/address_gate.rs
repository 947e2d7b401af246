//! The address gate decides which addresses the service may connect to on behalf of callers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use url::{Host, Url};

use crate::ranges;
use crate::refused_address::RefusedAddress;

const DENIED: RefusedAddress = RefusedAddress {
    purpose: "denied",
    authority: "the operator",
};

/// Decides by address alone: refuses what the operator denies, passes what the operator allows, and of all other addresses passes
/// the public ones.
#[derive(Clone, Debug, Default)]
pub struct AddressGate {
    allow: Vec<IpNet>,
    deny: Vec<IpNet>,
}

impl AddressGate {
    /// A gate that passes public addresses and `allow`. `deny` overrides both.
    pub fn new(allow: Vec<IpNet>, deny: Vec<IpNet>) -> Self {
        Self { allow, deny }
    }

    /// Passes an address that is public or allowed, unless it is denied.
    ///
    /// The gate judges an IPv6 address that embeds an IPv4 address (mapped, NAT64, 6to4, ISATAP) by the IPv4 address, because the
    /// packets go there. It does not refuse the whole well-known NAT64 prefix: on a network without IPv4, every IPv4 site resolves
    /// to it.
    pub fn check(&self, ip: IpAddr) -> Result<(), RefusedAddress> {
        let embedded = embedded_ipv4(ip);
        let matches = |nets: &[IpNet]| {
            nets.iter().any(|net| {
                net.contains(&ip) || embedded.is_some_and(|v4| net.contains(&IpAddr::V4(v4.0)))
            })
        };
        if matches(&self.deny) {
            return Err(DENIED);
        }
        if matches(&self.allow) {
            return Ok(());
        }
        let special = match embedded {
            Some((v4, Embedding::Prefix)) => ranges::refused(IpAddr::V4(v4)),
            Some((v4, Embedding::InterfaceId)) => {
                ranges::refused(ip).or_else(|| ranges::refused(IpAddr::V4(v4)))
            }
            None => ranges::refused(ip),
        };
        special.map_or(Ok(()), Err)
    }

    /// Checks the host of a URL as far as possible without a name server: literal addresses, and `localhost` names, which always mean
    /// this machine (RFC 6761 section 6.3). Other names pass, and the client checks them after their resolution.
    pub fn check_host(&self, url: &Url) -> Result<(), RefusedAddress> {
        match url.host() {
            Some(Host::Ipv4(v4)) => self.check(IpAddr::V4(v4)),
            Some(Host::Ipv6(v6)) => self.check(IpAddr::V6(v6)),
            Some(Host::Domain(name)) if is_localhost(name) => self
                .check(IpAddr::V4(Ipv4Addr::LOCALHOST))
                .or_else(|_| self.check(IpAddr::V6(Ipv6Addr::LOCALHOST))),
            _ => Ok(()),
        }
    }
}

fn is_localhost(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    name == "localhost" || name.ends_with(".localhost")
}

/// How an IPv6 address embeds an IPv4 address.
#[derive(Clone, Copy)]
enum Embedding {
    /// The prefix says that the address stands for the IPv4 address.
    Prefix,
    /// Only the interface identifier contains the IPv4 address, so the prefix must be public too.
    InterfaceId,
}

fn embedded_ipv4(ip: IpAddr) -> Option<(Ipv4Addr, Embedding)> {
    let IpAddr::V6(v6) = ip else { return None };
    let join = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match v6.segments() {
        // IPv4-mapped, RFC 4291 section 2.5.5.2.
        [0, 0, 0, 0, 0, 0xffff, high, low] => Some((join(high, low), Embedding::Prefix)),
        // NAT64 well-known prefix, RFC 6052 section 2.1.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some((join(high, low), Embedding::Prefix)),
        // 6to4, RFC 3056 section 2.
        [0x2002, high, low, ..] => Some((join(high, low), Embedding::Prefix)),
        // ISATAP, RFC 5214 section 6.1.
        [.., 0 | 0x200, 0x5efe, high, low] => Some((join(high, low), Embedding::InterfaceId)),
        _ => None,
    }
}
