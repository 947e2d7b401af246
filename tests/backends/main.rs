//! Back ends behind HTTP, from end to end: a real server, and stubs on loopback that speak the wire forms as the real ones do.

mod failover;
mod faults;
mod gemini;
mod limits;
mod openai;
mod probe;
mod stub;
#[allow(
    dead_code,
    unused_imports,
    reason = "shared with the tests of the HTTP edge, which use all of it"
)]
#[path = "../api/support/mod.rs"]
mod support;
mod world;
