//! The records of Tintype, and the rules by which they change.
//!
//! `domain` holds the pure rules: no clock, no I/O, no randomness; time comes in as an argument. `webhook_wire` writes and
//! verifies deliveries under the same rule.
//! `engine` stores bytes and decides nothing. `store` joins the two: typed records, typed keys, and one commit per decision.

pub mod domain;
pub mod engine;
pub mod export;
pub mod fast_hash;
pub mod histogram;
pub mod json;
pub mod store;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod verify;
pub mod webhook_wire;
