//! What leaves the machine, and what never does.

mod addresses;
mod connecting;
mod keeping;
mod resolving;
mod support;
pub(crate) mod tls;
mod urls;

pub(crate) use support::{Answer, FakeResolver, egress_for, loopback};
