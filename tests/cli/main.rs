//! The command line: the real binary against a real server on loopback.

mod batches;
#[path = "../recovery/bucket.rs"]
mod bucket;
mod callers;
mod cluster;
mod installed;
mod lost_responses;
mod naming;
mod operating;
mod operator_events;
mod receiving;
mod refusals;
mod support;
