//! Forbidden addresses in every spelling: the tables of the address gate, and each of their IPv4 addresses in other forms.

use std::net::{IpAddr, Ipv4Addr};

const ADDRESSES: &str = include_str!("../../../crates/egress/src/tests/addresses.txt");
const URLS: &str = include_str!("../../../crates/egress/src/tests/urls.txt");

fn rows<'a>(table: &'a str, wanted: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
    let rows = table.lines().filter(|line| !line.starts_with('#'));
    rows.filter_map(|line| line.split_once(' '))
        .filter(|(verdict, _)| wanted.contains(verdict))
        .map(|(_, row)| row)
}

/// Both edges of each range that is not public, and every form that embeds such an address.
pub fn refused_addresses() -> Vec<IpAddr> {
    rows(ADDRESSES, &["refused"])
        .map(|row| row.parse().unwrap())
        .collect()
}

/// URLs of these addresses at a port, each IPv4 address also in two of eight other spellings.
pub fn refused_urls(port: u16) -> Vec<String> {
    let mut hosts = Vec::new();
    for (at, address) in refused_addresses().into_iter().enumerate() {
        match address {
            IpAddr::V6(v6) => hosts.push(format!("[{v6}]")),
            IpAddr::V4(v4) => {
                let others = spellings(v4);
                hosts.push(v4.to_string());
                hosts.push(others[at % others.len()].clone());
                hosts.push(others[(at + 3) % others.len()].clone());
            }
        }
    }
    let at_port = hosts
        .iter()
        .map(|host| format!("http://{host}:{port}/a.png"));
    at_port.chain(quoted(&["refused"])).collect()
}

/// URLs that are invalid as written: user names, ports, blanks, zones, other schemes.
pub fn faulty_urls() -> Vec<String> {
    let faults = [
        "character",
        "credentials",
        "host",
        "port",
        "scheme",
        "syntax",
    ];
    quoted(&faults).collect()
}

fn quoted<'a>(wanted: &'a [&'a str]) -> impl Iterator<Item = String> + 'a {
    rows(URLS, wanted).map(|row| serde_json::from_str(row).unwrap())
}

/// Decimal, hexadecimal, octal, short, with a trailing dot, mapped, NAT64, 6to4.
fn spellings(address: Ipv4Addr) -> [String; 8] {
    let [a, b, c, d] = address.octets();
    let number = u32::from(address);
    let (high, low) = (number >> 16, number & 0xffff);
    [
        number.to_string(),
        format!("{number:#x}"),
        format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
        format!("{a}.{}", number & 0xff_ffff),
        format!("{a}.{b}.{c}.{d}."),
        format!("[::ffff:{address}]"),
        format!("[64:ff9b::{high:x}:{low:x}]"),
        format!("[2002:{high:x}:{low:x}::1]"),
    ]
}
