//! Hostile callers beside well-behaved ones, against the real program with its default configuration.
//!
//! `TINTYPE_ABUSE_SECONDS` is the duration of the load; 0: until interrupted. The tests print latencies and never judge them.

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
