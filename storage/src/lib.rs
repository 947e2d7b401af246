//! What Tintype keeps, and the rules by which it changes.
//!
//! `domain` holds the pure rules: no clock, no I/O, no randomness; time comes in as an argument.
//! `engine` stores bytes and decides nothing. `store` joins the two: typed records, typed keys, and one commit per decision.

pub mod audit;
pub mod contract;
pub mod domain;
pub mod engine;
pub mod export;
pub mod store;
pub mod tally;
