//! The address gate: which addresses may be reached for a stranger.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use url::{Host, Url};

use crate::ranges;

/// An address that may not be reached.
///
/// The text names no address and no range, so that nobody learns from it what a name resolves to inside the operator's
/// network; [`Refused::purpose`] and [`Refused::source`] are for the operator's own log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the address is not a public one")]
pub struct Refused {
    purpose: &'static str,
    authority: &'static str,
}

impl Refused {
    const DENIED: Self = Self {
        purpose: "denied",
        authority: "the operator",
    };

    /// What the refused range is for, for example `loopback`.
    pub fn purpose(self) -> &'static str {
        self.purpose
    }

    /// Who sets the range apart, for example `RFC 1122`.
    pub fn source(self) -> &'static str {
        self.authority
    }
}

/// Decides by address alone: what the operator denied is refused, what the operator allowed passes, and of all other addresses
/// the public ones pass.
#[derive(Clone, Debug, Default)]
pub struct AddressGate {
    allow: Vec<IpNet>,
    deny: Vec<IpNet>,
}

impl AddressGate {
    /// A gate that lets `allow` through beside public addresses, and refuses `deny` even where it is public or in `allow`.
    pub fn new(allow: Vec<IpNet>, deny: Vec<IpNet>) -> Self {
        Self { allow, deny }
    }

    /// Passes an address that is public or that an opened range contains, unless a closed range contains it.
    ///
    /// IPv6 forms that carry an IPv4 address (mapped, NAT64, 6to4, ISATAP) are judged by the address they carry: that is
    /// where the packets end up. The well-known NAT64 prefix is not refused as a whole because on a network without IPv4
    /// every IPv4 site resolves to it.
    pub fn check(&self, ip: IpAddr) -> Result<(), Refused> {
        let carried = carried_ipv4(ip);
        let listed = |nets: &[IpNet]| {
            nets.iter().any(|net| {
                net.contains(&ip) || carried.is_some_and(|v4| net.contains(&IpAddr::V4(v4.0)))
            })
        };
        if listed(&self.deny) {
            return Err(Refused::DENIED);
        }
        if listed(&self.allow) {
            return Ok(());
        }
        let special = match carried {
            Some((v4, Carrier::Translated)) => ranges::refused(IpAddr::V4(v4)),
            Some((v4, Carrier::Interface)) => {
                ranges::refused(ip).or_else(|| ranges::refused(IpAddr::V4(v4)))
            }
            None => ranges::refused(ip),
        };
        special.map_or(Ok(()), |special| {
            Err(Refused {
                purpose: special.purpose,
                authority: special.source,
            })
        })
    }

    /// Checks what can be checked of a URL without asking a name server: a literal address, and `localhost` names, which
    /// always mean this machine (RFC 6761 section 6.3). Other names pass; they are checked when they have been resolved.
    pub fn check_host(&self, url: &Url) -> Result<(), Refused> {
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

/// How an IPv6 address carries an IPv4 one.
#[derive(Clone, Copy)]
enum Carrier {
    /// The prefix says that the whole address stands for the IPv4 one.
    Translated,
    /// Only the interface identifier names it; the prefix has to be public too.
    Interface,
}

fn carried_ipv4(ip: IpAddr) -> Option<(Ipv4Addr, Carrier)> {
    let IpAddr::V6(v6) = ip else { return None };
    let join = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match v6.segments() {
        // IPv4-mapped, RFC 4291 section 2.5.5.2.
        [0, 0, 0, 0, 0, 0xffff, high, low] => Some((join(high, low), Carrier::Translated)),
        // NAT64 well-known prefix, RFC 6052 section 2.1.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some((join(high, low), Carrier::Translated)),
        // 6to4, RFC 3056 section 2.
        [0x2002, high, low, ..] => Some((join(high, low), Carrier::Translated)),
        // ISATAP, RFC 5214 section 6.1.
        [.., 0 | 0x200, 0x5efe, high, low] => Some((join(high, low), Carrier::Interface)),
        _ => None,
    }
}
