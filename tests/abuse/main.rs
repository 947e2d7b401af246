//! Hostile callers beside well-behaved ones, against the real program with its default configuration, except for limits that would hide what
//! the calls attack.
//!
//! `TINTYPE_ABUSE_SECONDS` is the duration of the load; 0: until interrupted. The tests print latencies, and judge only what does not
//! depend on the speed of the machine.

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
