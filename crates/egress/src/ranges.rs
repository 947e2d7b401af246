//! The address ranges that are not public, each with its purpose and the document that reserves it.
//!
//! The tables follow the IANA special-purpose address registries (RFC 6890), with two additions: ranges that the registries call
//! reachable although they contain no public web servers, and cloud metadata services at addresses that look public.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use crate::refused_address::RefusedAddress;

/// A refused range.
#[derive(Debug)]
pub struct Special {
    net: IpNet,
    refusal: RefusedAddress,
}

const fn special(net: IpNet, purpose: &'static str, authority: &'static str) -> Special {
    Special {
        net,
        refusal: RefusedAddress { purpose, authority },
    }
}

const fn v4(octets: [u8; 4], prefix: u8, purpose: &'static str, source: &'static str) -> Special {
    let [a, b, c, d] = octets;
    let net = Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix);
    special(IpNet::V4(net), purpose, source)
}

const fn v6(high: [u16; 4], prefix: u8, purpose: &'static str, source: &'static str) -> Special {
    let [a, b, c, d] = high;
    let net = Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0), prefix);
    special(IpNet::V6(net), purpose, source)
}

/// Refused IPv4 ranges.
pub const IPV4: &[Special] = &[
    v4([0, 0, 0, 0], 8, "this network", "RFC 791"),
    v4([10, 0, 0, 0], 8, "private use", "RFC 1918"),
    v4([100, 64, 0, 0], 10, "carrier-grade NAT", "RFC 6598"),
    v4([127, 0, 0, 0], 8, "loopback", "RFC 1122"),
    v4([168, 63, 129, 16], 32, "cloud metadata", "Azure"),
    v4([169, 254, 0, 0], 16, "link-local", "RFC 3927"),
    v4([172, 16, 0, 0], 12, "private use", "RFC 1918"),
    v4([192, 0, 0, 0], 24, "protocol assignments", "RFC 6890"),
    v4([192, 0, 2, 0], 24, "documentation", "RFC 5737"),
    v4([192, 31, 196, 0], 24, "AS112 sink", "RFC 7535"),
    v4([192, 52, 193, 0], 24, "multicast tunnels", "RFC 7450"),
    v4([192, 88, 99, 0], 24, "6to4 relays", "RFC 7526"),
    v4([192, 168, 0, 0], 16, "private use", "RFC 1918"),
    v4([192, 175, 48, 0], 24, "AS112 sink", "RFC 7534"),
    v4([198, 18, 0, 0], 15, "benchmarking", "RFC 2544"),
    v4([198, 51, 100, 0], 24, "documentation", "RFC 5737"),
    v4([203, 0, 113, 0], 24, "documentation", "RFC 5737"),
    v4([224, 0, 0, 0], 4, "multicast", "RFC 5771"),
    v4([240, 0, 0, 0], 4, "reserved and broadcast", "RFC 1112"),
];

/// Refused IPv6 ranges. Everything outside [`GLOBAL_UNICAST`] is refused too.
const IPV6: &[Special] = &[
    v6(
        [0, 0, 0, 0],
        96,
        "unspecified, loopback, IPv4-compatible",
        "RFC 4291",
    ),
    v6([0x64, 0xff9b, 1, 0], 48, "local NAT64", "RFC 8215"),
    v6([0x100, 0, 0, 0], 64, "discard", "RFC 6666"),
    v6([0x100, 0, 0, 1], 64, "dummy prefix", "RFC 9780"),
    v6([0x2001, 0, 0, 0], 32, "Teredo", "RFC 4380"),
    v6([0x2001, 2, 0, 0], 48, "benchmarking", "RFC 5180"),
    v6([0x2001, 0x10, 0, 0], 28, "ORCHID", "RFC 4843"),
    v6([0x2001, 0x20, 0, 0], 28, "ORCHIDv2", "RFC 7343"),
    v6([0x2001, 0, 0, 0], 23, "protocol assignments", "RFC 2928"),
    v6([0x2001, 0xdb8, 0, 0], 32, "documentation", "RFC 3849"),
    v6([0x2620, 0x4f, 0x8000, 0], 48, "AS112 sink", "RFC 7534"),
    v6([0x3ffe, 0, 0, 0], 16, "6bone, returned", "RFC 3701"),
    v6([0x3fff, 0, 0, 0], 20, "documentation", "RFC 9637"),
    v6([0x5f00, 0, 0, 0], 16, "segment routing", "RFC 9602"),
    v6([0xfc00, 0, 0, 0], 7, "unique local", "RFC 4193"),
    v6([0xfe80, 0, 0, 0], 10, "link-local", "RFC 4291"),
    v6([0xfec0, 0, 0, 0], 10, "site-local", "RFC 3879"),
    v6([0xff00, 0, 0, 0], 8, "multicast", "RFC 4291"),
];

/// The only IPv6 space that IANA assigns for global unicast (RFC 4291 section 2.4).
const GLOBAL_UNICAST: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// All addresses outside [`GLOBAL_UNICAST`] that are in no listed range.
const UNALLOCATED: Special = v6([0, 0, 0, 0], 0, "not global unicast", "RFC 4291");

/// Why `ip` is refused, if it is in a refused range. Does not consider embedded IPv4 addresses.
pub fn refused(ip: IpAddr) -> Option<RefusedAddress> {
    let table = if ip.is_ipv4() { IPV4 } else { IPV6 };
    let listed = table.iter().find(|special| special.net.contains(&ip));
    let found = match ip {
        IpAddr::V6(v6) if listed.is_none() && !GLOBAL_UNICAST.contains(&v6) => Some(&UNALLOCATED),
        _ => listed,
    };
    found.map(|special| special.refusal)
}
