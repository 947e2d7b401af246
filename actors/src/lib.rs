//! Order, time and supervision: the actors that decide for accounts, dispatch jobs to backends, and deliver webhooks.
//!
//! Messages between actors are hints to read the store, or commands that are answered once their commit is durable. A lost hint costs
//! delay, never work or money. This crate names no engine, URL path or wire field.
//!
//! Modules import in this order: `ports`, `stats`, `process_context`, `queue`, `delivery`, `account`, `backends`, `dispatch`, `nodes`, `system`.

pub mod account;
pub mod backends;
pub mod clock;
pub mod delivery;
pub mod dispatch;
pub mod fail_stop;
pub mod job_changes;
pub mod node;
pub mod nodes;
pub mod ports;
pub mod process_context;
mod queue;
mod recovery;
pub mod round;
mod shutdown;
pub mod stats;
pub mod system;
mod system_options;

// The supervision tests of the job actor access its internals, and share their set-up with the integration tests.
#[cfg(test)]
extern crate self as tintype_actors;
#[cfg(test)]
#[allow(dead_code)]
#[path = "../tests/actors/generators.rs"]
mod generators;
#[cfg(test)]
#[allow(dead_code)]
#[path = "../tests/actors/world.rs"]
mod world;
