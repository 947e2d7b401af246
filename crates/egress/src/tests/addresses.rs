//! Tests of the gate with a table of addresses.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::AddressGate;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn nets(texts: &[&str]) -> Vec<IpNet> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

/// The lines of a table: a verdict and its subject.
pub(super) fn rows(table: &str) -> impl Iterator<Item = (&str, &str)> {
    table
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split_once(' ').unwrap())
}

#[test]
fn every_address_of_the_table_is_classified_as_listed() {
    let gate = AddressGate::default();
    let mut count = 0;
    let mut wrong = Vec::new();
    for (verdict, address) in rows(include_str!("addresses.txt")) {
        let passes = gate.check(ip(address)).is_ok();
        if passes != (verdict == "public") {
            wrong.push(format!("{address} should be {verdict}"));
        }
        count += 1;
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(count >= 300, "the table has only {count} addresses");
}

#[test]
fn only_public_and_allowed_addresses_are_permitted() {
    let allow = ["127.0.0.0/8", "10.1.0.0/16", "fd00:1::/32", "100::/64"];
    let gate = AddressGate::new(nets(&allow), vec![]);
    let opened = [
        "127.0.0.1",
        "127.255.255.255",
        "10.1.255.255",
        "fd00:1::1",
        "100::5",
        // An embedded IPv4 address counts.
        "::ffff:127.0.0.1",
        "64:ff9b::10.1.2.3",
        "2002:7f00:1::",
    ];
    for address in opened {
        assert!(gate.check(ip(address)).is_ok(), "{address} is opened");
    }
    let shut = [
        "126.0.0.1", // public, as a check of the check
        "10.0.255.255",
        "10.2.0.0",
        "::1",
        "fd00:2::1",
        "::ffff:10.2.0.1",
        "64:ff9b::192.168.0.1",
        "64:ff9b:1::127.0.0.1",
        "169.254.169.254",
    ];
    assert!(gate.check(ip(shut[0])).is_ok());
    for address in &shut[1..] {
        assert!(gate.check(ip(address)).is_err(), "{address} stays shut");
    }
}

#[test]
fn allowing_all_networks_permits_every_address() {
    let gate = AddressGate::new(nets(&["0.0.0.0/0", "::/0"]), vec![]);
    for (_, address) in rows(include_str!("addresses.txt")) {
        assert!(gate.check(ip(address)).is_ok(), "{address}");
    }
}

#[test]
fn denied_addresses_are_rejected_even_if_public_or_allowed() {
    let allow = nets(&["127.0.0.0/8", "0.0.0.0/0"]);
    let deny = nets(&["127.0.0.2/32", "8.8.8.0/24", "2600:1::/96", "64:ff9b::/96"]);
    for gate in [
        AddressGate::new(vec![], deny.clone()),
        AddressGate::new(allow, deny),
    ] {
        for address in [
            "127.0.0.2",
            "8.8.8.8",
            // Embedded addresses too.
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
            "2002:808:808::1",
            // A network's translation prefix, and the well-known one.
            "2600:1::a00:1",
            "64:ff9b::1.1.1.1",
        ] {
            let refused = gate.check(ip(address)).unwrap_err();
            assert_eq!(refused.purpose, "denied", "{address}");
        }
        for address in ["8.8.9.1", "1.1.1.1", "2600:2::1"] {
            assert!(gate.check(ip(address)).is_ok(), "{address} stays open");
        }
    }
}

#[test]
fn a_rejection_hides_its_reason_from_the_caller_and_not_from_the_operator() {
    let refused = AddressGate::default().check(ip("10.0.0.1")).unwrap_err();
    assert_eq!(refused.to_string(), "the address is not a public one");
    assert_eq!(
        (refused.purpose, refused.authority),
        ("private use", "RFC 1918")
    );
}
