//! Hostile callers beside good ones, against the real program with its default configuration.
//!
//! `TINTYPE_ABUSE_SECONDS` says how long the load lasts; 0: until it is interrupted. Latencies are printed and never judged.

mod callers;
mod load;
mod memory;
#[allow(
    dead_code,
    unused_imports,
    reason = "shared with the tests of the HTTP edge, which use all of it"
)]
#[path = "../api/support/mod.rs"]
mod support;
mod world;
