//! Order, time and supervision: who decides for an account, which job runs next, and what a run is.
//!
//! Messages between actors are hints to look at the store, or commands that are answered once their commit is on the disk.
//! Losing a hint costs delay, never work or money. No engine, URL path or wire field is named here.

pub mod account;
pub mod accounts;
pub mod backoff;
pub mod breaker;
mod budget;
pub mod clock;
pub mod delivery;
pub mod dispatcher;
pub mod fail_stop;
pub mod figures;
pub mod generator;
mod health;
mod inbox;
mod job;
mod lane;
pub mod lately;
mod moves;
pub mod observer;
pub mod outbox;
mod permit;
pub mod progress;
mod queue;
mod queues;
mod recovery;
mod run;
mod spread;
pub mod system;
pub mod transport;
mod tries;
pub mod under_way;
pub mod watchers;
